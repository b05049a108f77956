package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// provenanceName is the file that says of what and how the files were made.
func (r *release) provenanceName() string { return "modelgateway_" + r.version + ".provenance.json" }

// writeProvenance writes a statement of in-toto with the predicate of SLSA 1.0. By itself it proves nothing: its signature does, or
// the attestation of the forge, which makes one of its own.
func (r *release) writeProvenance(context.Context) error {
	var subjects []object
	for _, name := range append([]string{checksumsName}, r.files...) {
		sum, err := checksum(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		subjects = append(subjects, object{"name": name, "digest": object{"sha256": sum}})
	}
	source := object{"uri": "git+" + repository()}
	if r.commit != "" {
		source["digest"] = object{"gitCommit": r.commit}
	}
	fmt.Println(r.provenanceName())
	return r.writeJSON(r.provenanceName(), object{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":            "urn:modelgateway:make-release:v1",
				"externalParameters":   object{"version": r.version, "platforms": fmt.Sprint(r.platforms), "packages": r.packages},
				"internalParameters":   object{"SOURCE_DATE_EPOCH": r.time.Unix()},
				"resolvedDependencies": []object{source},
			},
			"runDetails": object{
				"builder":  object{"id": builder()},
				"metadata": object{"finishedOn": time.Now().UTC().Format(time.RFC3339)},
			},
		},
	})
}

// repository is the address of the source on a forge, and the name of the module elsewhere.
func repository() string {
	if server, name := os.Getenv("GITHUB_SERVER_URL"), os.Getenv("GITHUB_REPOSITORY"); server != "" && name != "" {
		return server + "/" + name
	}
	return "modelgateway"
}

// builder is the run of the forge's workflow, or that a person has made the files.
func builder() string {
	if run := os.Getenv("GITHUB_RUN_ID"); run != "" {
		return repository() + "/actions/runs/" + run
	}
	return "urn:modelgateway:local-build"
}
