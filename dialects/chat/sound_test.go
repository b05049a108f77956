package chat

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
)

// wav is a sound of so many bytes.
func wav(format uint16, rate uint32, size int) []byte {
	head := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00")
	head = binary.LittleEndian.AppendUint16(head, format)
	head = binary.LittleEndian.AppendUint16(head, 1) // channel
	head = binary.LittleEndian.AppendUint32(head, rate)
	head = binary.LittleEndian.AppendUint32(head, rate) // bytes a second
	head = binary.LittleEndian.AppendUint16(head, 1)    // bytes a sample
	head = binary.LittleEndian.AppendUint16(head, 8)    // bits a sample
	return append(append(head, "data\x00\x00\x00\x00"...), make([]byte, size)...)
}

// A sound whose bytes do not bound its seconds counts as the whole context.
func TestSoundOfAnUnusualRateIsNotBoundedByItsBytes(t *testing.T) {
	for name, tt := range map[string]struct {
		sound   []byte
		bounded bool
	}{
		"PCM of 8 kHz":              {wav(1, 8000, 100), true},
		"PCM of 48 kHz":             {wav(1, 48_000, 100), true},
		"PCM of a sample a second":  {wav(1, 1, 100), false},
		"a codec":                   {wav(0x11, 8000, 100), false},
		"FLAC":                      {[]byte("fLaC" + strings.Repeat("\x00", 100)), false},
		"Ogg":                       {[]byte("OggS" + strings.Repeat("\x00", 100)), false},
		"MP3":                       {[]byte("\xff\xfb\x90\x64" + strings.Repeat("\x00", 100)), true},
		"MP3 after a tag":           {[]byte("ID3\x04" + strings.Repeat("\x00", 100)), true},
		"AAC, which begins like it": {[]byte("\xff\xf1\x50\x80" + strings.Repeat("\x00", 100)), false},
		"nothing":                   {nil, false},
		"a part of a head":          {wav(1, 8000, 0)[:30], false},
	} {
		data := base64.StdEncoding.EncodeToString(tt.sound)
		if got := hasUsualRate(data); got != tt.bounded {
			t.Errorf("%s: %v", name, got)
		}
		if tt.sound == nil {
			continue
		}
		r, err := Decode(nil, []byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"`+data+
			`","format":"wav"}}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Source.Size(); s.Sounds != 1 || s.Opaque == tt.bounded {
			t.Errorf("%s: %+v", name, s)
		}
	}
	r, err := Decode(nil, []byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"DATA:audio/wav;base64,`+
		`AAAA"}}]}]}`))
	if err != nil || r.Source.Size().Sounds != 1 {
		t.Errorf("a sound as a file: %+v, %v", r, err)
	}
}
