package all_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// folder is a provider's.
type folder struct {
	speaks string // the provider whose package it uses, or its own name
}

// providerFolders are the folders of providers whose package has a Driver.
func providerFolders(t *testing.T) map[string]folder {
	t.Helper()
	const providers = "modelgateway/providers/"
	imports, found := map[string][]string{}, map[string]folder{}
	for _, name := range subfolders(t, "..") {
		for _, file := range parsed(t, filepath.Join("..", name)) {
			if declares(file, "Driver") {
				found[name] = folder{speaks: name}
			}
			for _, i := range file.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if used, ok := strings.CutPrefix(path, providers); ok && err == nil {
					imports[name] = append(imports[name], used)
				}
			}
		}
	}
	for name, f := range found {
		for _, used := range imports[name] {
			if _, ok := found[used]; ok {
				f.speaks = used
			}
		}
		found[name] = f
	}
	return found
}

// dialectFolders are the folders of dialects whose package has a Dialect.
func dialectFolders(t *testing.T) []string {
	t.Helper()
	var found []string
	root := filepath.Join("..", "..", "dialects")
	for _, name := range subfolders(t, root) {
		for _, file := range parsed(t, filepath.Join(root, name)) {
			if declares(file, "Dialect") {
				found = append(found, name)
			}
		}
	}
	return found
}

// declares says whether a file has a variable or a function of this name.
func declares(file *ast.File, name string) bool {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(s.Names, func(i *ast.Ident) bool { return i.Name == name }) {
					return true
				}
			}
		}
	}
	return false
}

func subfolders(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// parsed are the Go files of a folder, without its tests.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
