#!/usr/bin/env bash
# Tests accounts and keys on a running gateway: registers, logs in, creates a key,
# calls a model with it in both headers, revokes it and checks that it is refused.
# It needs curl, and makes a user with a random address.
#
#   deploy/smoke-test.sh [http://localhost:8080]
set -euo pipefail
base=${1:-http://localhost:8080}
email="smoke-test-$RANDOM$RANDOM@example.com"
password="correct horse battery staple"
model=${MODEL:-claude-haiku-4-5-20251001}

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
# call METHOD PATH BODY [HEADER…]: prints the body, then the status on a line of its own
call() {
  local method=$1 path=$2 body=$3; shift 3
  local args=(-sS -X "$method" "$base$path" -w '\n%{http_code}\n' -H 'Content-Type: application/json')
  for header in "$@"; do args+=(-H "$header"); done
  [ -z "$body" ] || args+=(-d "$body")
  curl "${args[@]}"
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -n 1; }
want() { # want STATUS ANSWER: prints the answer and exits if its status is another
  printf '%s\n' "$2"
  [ "$(printf '%s' "$2" | tail -n 1)" = "$1" ] || { echo "expected status $1"; exit 1; }
}

say "register $email"
want 201 "$(call POST /auth/register "{\"email\":\"$email\",\"password\":\"$password\",\"name\":\"Smoke Test\"}")"

say "log in"
answer=$(call POST /auth/login "{\"email\":\"$email\",\"password\":\"$password\"}")
token=$(printf '%s' "$answer" | field token)
[ -n "$token" ] || { echo "$answer"; exit 1; }
echo "a token of ${#token} characters"

say "create a key"
answer=$(call POST /auth/keys '{"name":"smoke test"}' "Authorization: Bearer $token")
key=$(printf '%s' "$answer" | field key)
id=$(printf '%s' "$answer" | field id)
[ -n "$key" ] || { echo "$answer"; exit 1; }
echo "key $id: ${key:0:8}…"

chat="{\"model\":\"$model\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}"
say "chat, Authorization: Bearer"
want 200 "$(call POST /v1/chat/completions "$chat" "Authorization: Bearer $key")"
say "chat, X-API-Key"
want 200 "$(call POST /v1/chat/completions "$chat" "X-API-Key: $key")"

say "list the keys"
want 200 "$(call GET /auth/keys '' "Authorization: Bearer $token")"

say "revoke the key"
want 200 "$(call DELETE "/auth/keys/$id" '' "Authorization: Bearer $token")"

say "chat with the revoked key"
want 401 "$(call POST /v1/chat/completions "$chat" "Authorization: Bearer $key")"
want 401 "$(call POST /v1/chat/completions "$chat" "X-API-Key: $key")"
say "every answer was as expected"
