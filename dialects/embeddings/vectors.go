package embeddings

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// AppendVector adds the JSON of one element of an answer's data. The vector is scaled to
// length 1 in place, as those of OpenAI are: vectors of models that cut them off are shorter.
func (v *vectors) AppendVector(dst []byte, index int, vector []float64) []byte {
	scale(vector)
	dst = strconv.AppendInt(append(dst, `{"object":"embedding","index":`...), int64(index), 10)
	dst = append(dst, `,"embedding":`...)
	if v.base64 {
		return append(appendBase64(append(dst, '"'), vector), `"}`...)
	}
	dst = append(dst, '[')
	for i, x := range vector {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, float32(x))
	}
	return append(dst, `]}`...)
}

// alike is how much the square of a vector's length may differ from 1 to count as that: the
// seven digits that providers write do not say more. Such a vector is left as it is.
const alike = 1e-5

func scale(vector []float64) {
	var square float64
	for _, x := range vector {
		square += x * x
	}
	if square == 0 || math.Abs(square-1) < alike || math.IsInf(square, 0) {
		return
	}
	length := math.Sqrt(square)
	for i := range vector {
		vector[i] /= length
	}
}

// appendFloat writes the shortest text that is read as the same 32-bit number.
func appendFloat(dst []byte, x float32) []byte {
	form := byte('f')
	if size := math.Abs(float64(x)); size != 0 && size < 1e-6 {
		form = 'e'
	}
	return strconv.AppendFloat(dst, float64(x), form, -1, 32)
}

func appendBase64(dst []byte, vector []float64) []byte {
	const size, group = 4, 768 // bytes of a number, and numbers whose bytes need no padding
	var raw [group * size]byte
	for len(vector) > 0 {
		some := vector[:min(group, len(vector))]
		vector = vector[len(some):]
		bytes := raw[:0]
		for _, x := range some {
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(x)))
		}
		dst = base64.StdEncoding.AppendEncode(dst, bytes)
	}
	return dst
}
