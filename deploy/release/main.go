// The command release makes the files of a release: archives of the static binary for each platform, packages, lists of modules
// (SPDX and CycloneDX), checksums, provenance and signatures. It is started by `make release VERSION=…`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// version is that of Semantic Versioning, which package managers order. Build data behind a plus are left out: tags of images have none.
var version = regexp.MustCompile(`^v?((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z][0-9A-Za-z.-]*)?)$`)

// release is what one run makes.
type release struct {
	version   string // without v
	out       string // the folder of the files
	work      string // the folder of what is only between
	root      string // the repository
	commit    string // empty: not known
	time      time.Time
	platforms []platform
	packages  bool
	key       string // the file of the private key; empty: nothing is signed
	files     []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	r, err := parse(ctx, arguments)
	if err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "release-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	var key *signer
	if r.key != "" { // a key that cannot be used is told before minutes of compiling
		if key, err = readKey(r.key); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{r.build, r.makePackages, r.writeChecksums, r.writeProvenance} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if key != nil {
		return key.signAll(r.out, checksumsName, r.provenanceName())
	}
	fmt.Println("nothing is signed: RELEASE_KEY names no key")
	return nil
}

func parse(ctx context.Context, arguments []string) (*release, error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	name := flags.String("version", "", "the version, such as 1.2.3 or v1.2.3-rc.1")
	out := flags.String("out", "dist", "the folder of the files, which must be empty or missing")
	only := flags.String("platforms", "", "the platforms, such as linux/amd64,darwin/arm64; all of them by default")
	packages := flags.Bool("packages", true, "make deb and rpm packages")
	key := flags.String("key", os.Getenv("RELEASE_KEY"), "the file of a private key (ECDSA P-256, PEM) that signs")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	match := version.FindStringSubmatch(*name)
	if match == nil {
		return nil, fmt.Errorf("VERSION is %q, not a version such as 1.2.3", *name)
	}
	platforms, err := choose(*only)
	if err != nil {
		return nil, err
	}
	root, err := goList(ctx, "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	r := &release{version: match[1], out: *out, root: root, platforms: platforms, packages: *packages, key: *key}
	if r.commit, r.time, err = stamp(ctx, root); err != nil {
		return nil, err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(r.out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: files of another release would be among these", *out)
	}
	return r, os.MkdirAll(r.out, 0o755)
}

// stamp returns the commit and its time, which all files get, so that two builds are equal. SOURCE_DATE_EPOCH, in seconds, wins, and
// is needed outside of a repository.
func stamp(ctx context.Context, root string) (string, time.Time, error) {
	cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %ct")
	cmd.Dir = root
	out, err := cmd.Output()
	commit, seconds, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	} else if err != nil {
		return "", time.Time{}, errors.New("no time for the files: neither a commit of git nor SOURCE_DATE_EPOCH")
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return "", time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", seconds)
	}
	return commit, time.Unix(n, 0).UTC(), nil
}

// add counts a file among those that the checksums list.
func (r *release) add(name string) {
	r.files = append(r.files, name)
	fmt.Println(name)
}
