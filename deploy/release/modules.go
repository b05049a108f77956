package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// module is a part of a binary.
type module struct{ path, version string }

// purl is the name by which scanners look for known faults.
func (m module) purl() string { return "pkg:golang/" + m.path + "@" + m.version }

// inventory is what the lists of modules say of a binary.
type inventory struct {
	platform platform
	version  string
	sum      string // SHA-256 of the binary
	modules  []module
	time     time.Time
}

// id tells this list from all others, and is the same when the same binary is built again.
func (i inventory) id() [16]byte {
	sum := sha256.Sum256([]byte("modelgateway " + i.version + " " + i.platform.String() + " " + i.sum))
	id := [16]byte(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8
	return id
}

func (i inventory) uuid() string {
	id := i.id()
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// listModules writes the lists of the modules that the linker has put into a binary, as the binary itself tells them: go.mod also
// has those of tests and of other platforms.
func (r *release) listModules(p platform) error {
	list, err := r.inventory(p)
	if err != nil {
		return err
	}
	if err := r.writeJSON(r.base(p)+".spdx.json", list.spdx()); err != nil {
		return err
	}
	r.add(r.base(p) + ".spdx.json")
	r.add(r.base(p) + ".cdx.json")
	return r.writeJSON(r.base(p)+".cdx.json", list.cycloneDX())
}

func (r *release) inventory(p platform) (inventory, error) {
	info, err := buildinfo.ReadFile(r.binary(p))
	if err != nil {
		return inventory{}, err
	}
	sum, err := checksum(r.binary(p))
	if err != nil {
		return inventory{}, err
	}
	list := inventory{platform: p, version: r.version, sum: sum, time: r.time}
	list.modules = append(list.modules, module{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list.modules = append(list.modules, module{path: m.Path, version: m.Version})
	}
	return list, nil
}

func (r *release) writeJSON(name string, document any) error {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), append(data, '\n'), 0o644)
}

type object = map[string]any

// spdx is the list in SPDX 2.3. Licenses of modules are NOASSERTION: they were not reviewed.
func (i inventory) spdx() any {
	const none = "NOASSERTION"
	packages := []object{{
		"SPDXID": "SPDXRef-modelgateway", "name": "modelgateway", "versionInfo": i.version, "downloadLocation": none,
		"filesAnalyzed": false, "checksums": []object{{"algorithm": "SHA256", "checksumValue": i.sum}},
		"licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": none, "primaryPackagePurpose": "APPLICATION",
	}}
	relationships := []object{{
		"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-modelgateway",
	}}
	for n, m := range i.modules {
		id := fmt.Sprintf("SPDXRef-module-%d", n)
		entry := object{
			"SPDXID": id, "name": m.path, "versionInfo": m.version, "downloadLocation": none, "filesAnalyzed": false,
			"licenseConcluded": none, "licenseDeclared": none, "copyrightText": none,
			"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": m.purl()}},
		}
		packages = append(packages, entry)
		relationships = append(relationships, object{
			"spdxElementId": "SPDXRef-modelgateway", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": id,
		})
	}
	return object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
		"name": "modelgateway " + i.version + " " + i.platform.String(), "documentNamespace": "urn:uuid:" + i.uuid(),
		"creationInfo": object{"created": i.time.Format(time.RFC3339), "creators": []string{"Tool: modelgateway-release-" + i.version}},
		"packages":     packages, "relationships": relationships,
	}
}

// cycloneDX is the list in CycloneDX 1.6.
func (i inventory) cycloneDX() any {
	const root = "modelgateway"
	var components []object
	var names []string
	for _, m := range i.modules {
		entry := object{"type": "library", "bom-ref": m.purl(), "name": m.path, "version": m.version, "purl": m.purl()}
		components = append(components, entry)
		names = append(names, m.purl())
	}
	return object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:" + i.uuid(), "version": 1,
		"metadata": object{
			"timestamp": i.time.Format(time.RFC3339),
			"tools":     object{"components": []object{{"type": "application", "name": "modelgateway-release", "version": i.version}}},
			"component": object{
				"type": "application", "bom-ref": root, "name": "modelgateway", "version": i.version,
				"hashes":   []object{{"alg": "SHA-256", "content": i.sum}},
				"licenses": []object{{"license": object{"id": "Apache-2.0"}}},
			},
		},
		"components":   components,
		"dependencies": []object{{"ref": root, "dependsOn": names}},
	}
}
