package chat

import (
	"modelgateway/dialects/body"
	"modelgateway/llm"
)

// readMessage reads and checks a message. What assistants said may come back with members of
// the answer that mean nothing in a request, such as the index of a tool call.
func readMessage(in *body.Reader, m *Message) {
	start := in.Start()
	for name := range in.Object() {
		switch string(name) {
		case "role":
			m.Role = in.Text(roles...)
		case "content":
			readContent(in, &m.Content)
		case "name":
			m.Name = in.Text()
		case "tool_calls":
			for range in.List(maxTools) {
				readCall(in, body.Add(in, &m.ToolCalls))
			}
		case "tool_call_id":
			m.ToolCallID = in.Text()
		case "function_call":
			m.FunctionCall = readCalled(in, "messages[].function_call.")
		case "refusal":
			m.Refusal = in.Text()
		case "audio":
			m.Audio = in.Raw()
		case "cache_control":
			m.CacheControl = in.Raw()
		case "reasoning_content":
			m.ReasoningContent = in.Text()
		case "reasoning_details":
			m.ReasoningDetails = readDetails(in)
		case "images":
			for range in.List(maxParts) {
				readImage(in, body.Add(in, &m.Images))
			}
		case "annotations":
			in.Value()
		default:
			leave(in, "messages[].", name)
		}
	}
	if !in.Failed() && m.validate("") != nil {
		in.Refuse(m.validate(in.Path(start))) // the path is made only for the error
	}
}

// readContent reads a text, parts, or null.
func readContent(in *body.Reader, c *Content) {
	*c = Content{}
	switch in.Peek() {
	case 'n':
		in.Null()
	case '[':
		c.Set, c.Parts = true, []ContentPart{}
		for range in.List(maxParts) {
			readPart(in, body.Add(in, &c.Parts))
		}
	default:
		c.Set, c.literal = true, in.Quoted()
	}
}

func readPart(in *body.Reader, p *ContentPart) {
	const path = "messages[].content[]."
	for name := range in.Object() {
		switch string(name) {
		case "type":
			p.Type = in.Text(userParts...)
		case "text":
			p.Text = in.Text()
		case "image_url":
			if !in.IsNull() {
				p.ImageURL = new(ImageURL)
				readImageURL(in, path+"image_url.", p.ImageURL)
			}
		case "input_audio":
			p.InputAudio = readSound(in, path+"input_audio.")
		case "file":
			p.File = readFile(in, path+"file.")
		case "refusal":
			p.Refusal = in.Text()
		case "cache_control":
			p.CacheControl = in.Raw()
		default:
			leave(in, path, name)
		}
	}
}

func readImageURL(in *body.Reader, path string, u *ImageURL) {
	for name := range in.Object() {
		switch string(name) {
		case "url":
			u.URL = in.Text()
		case "detail":
			u.Detail = in.Text()
		default:
			leave(in, path, name)
		}
	}
}

func readSound(in *body.Reader, path string) *InputAudio {
	if in.IsNull() {
		return nil
	}
	a := new(InputAudio)
	for name := range in.Object() {
		switch string(name) {
		case "data":
			a.Data = in.Text()
		case "format":
			a.Format = in.Text(soundFormats...)
		default:
			leave(in, path, name)
		}
	}
	return a
}

func readFile(in *body.Reader, path string) *File {
	if in.IsNull() {
		return nil
	}
	f := new(File)
	for name := range in.Object() {
		switch string(name) {
		case "file_data":
			f.FileData = in.Text()
		case "filename":
			f.Filename = in.Text()
		case "file_id":
			f.FileID = in.Text()
		default:
			leave(in, path, name)
		}
	}
	return f
}

// readImage reads an image that the model made in an earlier turn. Its members beside the
// address are those of an answer.
func readImage(in *body.Reader, i *Image) {
	for name := range in.Object() {
		switch string(name) {
		case "type":
			i.Type = in.Text()
		case "image_url":
			for name := range in.Object() {
				switch string(name) {
				case "url":
					i.ImageURL.URL = in.Text()
				case "detail":
					i.ImageURL.Detail = in.Text()
				default:
					in.Value()
				}
			}
		default:
			in.Value()
		}
	}
}

func readCall(in *body.Reader, c *ToolCall) {
	for name := range in.Object() {
		switch string(name) {
		case "id":
			c.ID = in.Text()
		case "type":
			c.Type = in.Text(toolTypes...)
		case "function":
			c.Function = readCalled(in, "messages[].tool_calls[].function.")
		case "custom":
			c.Custom = in.Raw()
		case "extra_content":
			c.ExtraContent = readExtra(in)
		case "index":
			in.Value()
		default:
			leave(in, "messages[].tool_calls[].", name)
		}
	}
}

func readCalled(in *body.Reader, path string) *FunctionCall {
	if in.IsNull() {
		return nil
	}
	f := new(FunctionCall)
	for name := range in.Object() {
		switch string(name) {
		case "name":
			f.Name = in.Text()
		case "arguments":
			f.Arguments = in.Text()
		default:
			leave(in, path, name)
		}
	}
	return f
}

// readExtra reads what Google's OpenAI endpoint attaches to a call.
func readExtra(in *body.Reader) *ExtraContent {
	extra := new(ExtraContent)
	for name := range in.Object() {
		if string(name) != "google" {
			in.Value()
			continue
		}
		extra.Google = new(GoogleExtra)
		for name := range in.Object() {
			if string(name) == "thought_signature" {
				extra.Google.ThoughtSignature = in.Text()
			} else {
				in.Value()
			}
		}
	}
	return extra
}

// readDetails reads reasoning that a client brings back. Other members of its details are
// those of an answer.
func readDetails(in *body.Reader) (all []ReasoningDetail) {
	for range in.List(maxParts) {
		d := body.Add(in, &all)
		for name := range in.Object() {
			switch string(name) {
			case "type":
				d.Type = in.Text(ReasoningText, ReasoningEncrypted, reasoningSummary)
			case "text":
				d.Text = in.Text()
			case "summary":
				d.Summary = in.Text()
			case "signature":
				d.Signature = in.Text()
			case "data":
				d.Data = in.Text()
			case "id":
				d.ID = in.Text()
			case "format":
				d.Format = llm.ThoughtFormat(in.Text())
			case "index":
				if n := in.Integer(); n != nil {
					d.Index = int(*n)
				}
			default:
				in.Value()
			}
		}
	}
	return all
}
