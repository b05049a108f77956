// Gives a task to the Claude Agent SDK and prints its result as JSON.
import { query } from "@anthropic-ai/claude-agent-sdk";

const options = { cwd: process.cwd(), permissionMode: "acceptEdits", allowedTools: ["Read", "Write", "Bash"], maxTurns: 10 };
for await (const message of query({ prompt: process.argv[2], options })) {
  if (message.type === "result") console.log(JSON.stringify(message));
}
