package chat

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
)

// hasUsualRate says whether a second of a sound in base64 takes at least 1,000 bytes, so
// that its bytes bound its length: an MP3, whose lowest rate is 8 kbit/s, or a WAV of
// uncompressed samples at 8 kHz or more. A WAV of one sample a second would be hours of
// sound in a few kilobytes, and providers recognise other formats by their content.
func hasUsualRate(data string) bool {
	const head, lowest = 36, 8000 // bytes up to the end of the format, samples a second
	text := make([]byte, base64.StdEncoding.DecodedLen(head/3*4))
	n, _ := base64.StdEncoding.Decode(text, []byte(data[:min(len(data), head/3*4)]))
	text = text[:n]
	if bytes.HasPrefix(text, []byte("ID3")) || n > 1 && text[0] == 0xff && text[1]&0xe0 == 0xe0 && text[1]&0x06 != 0 {
		return true
	}
	if n < head || string(text[:4]) != "RIFF" || string(text[8:16]) != "WAVEfmt " {
		return false
	}
	const integer, float, aLaw, muLaw, extensible = 1, 3, 6, 7, 0xfffe
	switch binary.LittleEndian.Uint16(text[20:]) {
	case integer, float, aLaw, muLaw, extensible:
		return binary.LittleEndian.Uint32(text[24:]) >= lowest && binary.LittleEndian.Uint16(text[32:]) > 0
	}
	return false
}
