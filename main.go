// Command modelgateway is one OpenAI chat completions API in front of
// Anthropic, OpenAI and Google Gemini.
package main

import "modelgateway/app/cli"

func main() { cli.Main() }
