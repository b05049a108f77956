package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// content is a file of an archive.
type content struct {
	name string
	mode fs.FileMode
	data []byte
}

// documents are beside the binary in every archive.
var documents = []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", ".env.example"}

// archive writes the archive of a platform: zip for Windows, whose Explorer opens nothing else everywhere, and tar.gz for the others.
func (r *release) archive(p platform) error {
	program, err := os.ReadFile(r.binary(p))
	if err != nil {
		return err
	}
	files := []content{{p.program(), 0o755, program}}
	for _, name := range documents {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		files = append(files, content{name, 0o644, data})
	}
	write, name := tarball, r.base(p)+".tar.gz"
	if p.system == "windows" {
		write, name = zipped, r.base(p)+".zip"
	}
	data, err := write(r.base(p), files, r.time)
	if err != nil {
		return err
	}
	r.add(name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// tarball puts files into a folder of a tar.gz. It has no names of users and one time, so that it depends on the files alone.
func tarball(folder string, files []content, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{
			Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err = packed.Close()
	return out.Bytes(), err
}

// zipped is tarball for zip.
func zipped(folder string, files []content, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}
