#!/usr/bin/env bash
# Walks through the life of accounts on a gateway of its own, with simulated providers:
# set-up of the first administrator, invitation, team, budgets, rotation of a key, reset
# of a password, log-out everywhere, and the same by the command line. It prints each
# step and ends with an error at the first answer that is not as expected. It needs curl.
#
#   deploy/walk.sh                       the binary BINARY (bin/modelgateway), SQLite in a temporary folder
#   DATABASE_URL=… REDIS_URL=… deploy/walk.sh   an empty database of PostgreSQL, and Redis
#
# On a gateway that runs already, on an empty database, with SIMULATOR, REQUIRE_AUTH and
# REGISTRATION=invite: BASE is its address, COMMAND its command line, LOG prints its log.
# With Docker Compose:
#
#   export SIMULATOR=true REQUIRE_AUTH=true REGISTRATION=invite AUTH_RATE_LIMIT_RPM=0 JWT_SECRET=$(openssl rand -hex 32)
#   docker compose up --build --detach --wait
#   BASE=http://localhost:8080 COMMAND='docker compose exec -T gateway /modelgateway' \
#     LOG='docker compose logs --no-color gateway' deploy/walk.sh
set -euo pipefail
model=${MODEL:-claude-haiku-4-5-20251001}
folder=$(mktemp -d)
if [ -n "${BASE:-}" ]; then
  base=$BASE
  gateway() { ${COMMAND:?is needed with BASE: the command line of the gateway at BASE} "$@"; }
  log() { ${LOG:?is needed with BASE: a command that prints the log of the gateway at BASE}; }
else
  binary=$(realpath "${BINARY:-$(dirname "$0")/../bin/modelgateway}")
  port=${PORT:-8089}
  base=http://127.0.0.1:$port
  cd "$folder" # a .env elsewhere is not read
  export DATABASE_URL=${DATABASE_URL:-sqlite:$folder/gateway.db} HOST=127.0.0.1 PORT=$port PUBLIC_URL=$base LOG_FORMAT=json
  export SIMULATOR=true REQUIRE_AUTH=true REGISTRATION=invite MODEL_DISCOVERY=false AUTH_RATE_LIMIT_RPM=0 SHUTDOWN_GRACE_SECONDS=1
  JWT_SECRET=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'); export JWT_SECRET
  gateway() { "$binary" "$@"; }
  log() { cat "$folder/log"; }
fi

server=
finish() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

say() { printf '%s\n' "· $*"; }
part() { printf '\n%s\n' "$*"; }
fail() { printf 'NOT AS EXPECTED: %s\n' "$*" >&2; exit 1; }
# call METHOD PATH BODY [HEADER]: sets status and answer
call() {
  local args=(-sS -o "$folder/answer" -w '%{http_code}' -X "$1" "$base$2" -H 'Content-Type: application/json')
  [ -z "$3" ] || args+=(-d "$3")
  [ -z "${4:-}" ] || args+=(-H "$4")
  status=$(curl "${args[@]}") || fail "$1 $2 does not answer"
  answer=$(cat "$folder/answer")
}
want() { # want STATUS METHOD PATH BODY [HEADER]
  local expected=$1; shift
  call "$@"
  [ "$status" = "$expected" ] || fail "$1 $2 answers $status instead of $expected: $answer"
}
field() { # the first text with this name in the last answer
  printf '%s' "$answer" | grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4
}
has() { case $answer in *"$1"*) ;; *) fail "$1 is missing in $answer" ;; esac; }
same() { [ "$1" = "$2" ] || fail "$3: $1 instead of $2"; }
token_of() { sed 's/.*token=//' <<<"$1"; } # of a link
login() { # login EMAIL PASSWORD: sets token
  want 200 POST /auth/login "{\"email\":\"$1\",\"password\":\"$2\"}"
  token="Authorization: Bearer $(field token)"
}
chat="{\"model\":\"$model\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}"
calls() { # calls KEY STATUS: for two seconds, as changes take up to one to arrive
  local tries=0
  while call POST /v1/chat/completions "$chat" "X-API-Key: $1"; [ "$status" != "$2" ]; do
    tries=$((tries + 1))
    [ $tries -lt 20 ] || fail "a call answers $status instead of $2: $answer"
    sleep 0.1
  done
}

part "By the API"
if [ -z "${BASE:-}" ]; then
  "$binary" serve >"$folder/log" 2>&1 &
  server=$!
fi
for _ in $(seq 600); do curl -sf -o /dev/null "$base/readyz" && break; sleep 0.1; done
want 200 GET /readyz ''

say "the log has a link with which the first administrator is created"
link=$(log | grep -o 'http[^"]*token=mgw_setup_[A-Z2-7]*' | tail -n 1) || fail "there is no link in the log: $(log)"
setup=$(token_of "$link")
want 403 POST /auth/setup '{"token":"mgw_setup_AAAAAAAAAAAAAAAAAAAAAAAAAA","email":"eve@example.com","password":"correct horse","name":"Eve"}'
want 201 POST /auth/setup "{\"token\":\"$setup\",\"email\":\"root@example.com\",\"password\":\"correct horse battery\",\"name\":\"Root\"}"
say "it works once"
want 403 POST /auth/setup "{\"token\":\"$setup\",\"email\":\"eve@example.com\",\"password\":\"correct horse battery\",\"name\":\"Eve\"}"
login root@example.com "correct horse battery"; root=$token

say "a registration without an invitation is refused"
want 403 POST /auth/register '{"email":"eve@example.com","password":"correct horse battery","name":"Eve"}'
say "the administrator makes a team with a budget, and invites Ada as its manager"
want 201 POST /admin/teams '{"name":"research","budget_usd":100,"budget_window":"month"}' "$root"
team=$(field id)
want 201 POST /admin/invitations "{\"email\":\"ada@example.com\",\"team_id\":\"$team\",\"role\":\"manager\"}" "$root"
invitation=$(token_of "$(field url)")
want 403 POST /auth/register "{\"email\":\"eve@example.com\",\"password\":\"correct horse battery\",\"name\":\"Eve\",\"invitation\":\"$invitation\"}"
want 201 POST /auth/register "{\"email\":\"ada@example.com\",\"password\":\"correct horse battery\",\"name\":\"Ada\",\"invitation\":\"$invitation\"}"
ada_id=$(field id)
login ada@example.com "correct horse battery"; ada=$token
want 200 GET /auth/teams '' "$ada"; has '"manager"'
say "Ada invites Bea to the team, and makes a key of it"
want 201 POST "/auth/teams/$team/invitations" '{"email":"bea@example.com"}' "$ada"
invitation=$(token_of "$(field url)")
want 201 POST /auth/register "{\"email\":\"bea@example.com\",\"password\":\"correct horse battery\",\"name\":\"Bea\",\"invitation\":\"$invitation\"}"
want 201 POST "/auth/teams/$team/keys" "{\"name\":\"ci\",\"user_id\":\"$ada_id\"}" "$ada"
key=$(field key) key_id=$(field id)
calls "$key" 200
want 403 GET /admin/users '' "$ada"

say "a spent budget of the team refuses the call, and one of the user too"
want 200 PATCH "/admin/teams/$team" '{"budget_usd":0}' "$root"
calls "$key" 402
want 200 PATCH "/admin/teams/$team" '{"budget_usd":100}' "$root"
calls "$key" 200
want 200 PATCH "/admin/users/$ada_id" '{"budget_usd":0,"budget_window":"day"}' "$root"
calls "$key" 402
want 200 PATCH "/admin/users/$ada_id" '{"budget_usd":50,"budget_window":"month"}' "$root"
calls "$key" 200

say "the key is rotated: both secrets work, until the former one is ended"
want 201 POST "/auth/keys/$key_id/rotate" '{"overlap_seconds":2}' "$ada"
second=$(field key)
calls "$second" 200
calls "$key" 200
sleep 2
calls "$key" 401
calls "$second" 200

say "Ada logs out everywhere: the token ends, the key stays"
want 200 POST /auth/logout '{"everywhere":true}' "$ada"
want 401 GET /auth/keys '' "$ada"
calls "$second" 200

say "the administrator hands over a link for a new password"
want 201 POST "/admin/users/$ada_id/reset" '' "$root"
reset=$(token_of "$(field url)")
want 200 POST /auth/password/reset "{\"token\":\"$reset\",\"new_password\":\"another horse battery\"}"
want 403 POST /auth/password/reset "{\"token\":\"$reset\",\"new_password\":\"a third horse battery\"}"
want 401 POST /auth/login '{"email":"ada@example.com","password":"correct horse battery"}'
login ada@example.com "another horse battery"; ada=$token

say "Ada leaves: nothing of hers works any more"
want 409 DELETE "/admin/users/$ada_id" '' "$root"
bea_id=$(answer=; want 200 GET '/admin/users?email=bea@example.com' '' "$root"; field id)
want 200 PATCH "/admin/teams/$team/members/$bea_id" '{"role":"manager"}' "$root"
want 200 DELETE "/admin/users/$ada_id" '' "$root"
calls "$second" 401
want 401 GET /auth/keys '' "$ada"

part "By the command line, beside the running server"
say "check, version, healthcheck, models"
gateway check >/dev/null || fail "check: the settings are wrong"
gateway version >/dev/null
gateway healthcheck --ready || fail "healthcheck: not ready"
gateway models --quiet | grep -x "$model" >/dev/null || fail "models: no $model"
say "an administrator, who sets the password with the link"
reset=$(token_of "$(gateway admin create --email boss@example.com --quiet)")
want 200 POST /auth/password/reset "{\"token\":\"$reset\",\"new_password\":\"correct horse battery\"}"
login boss@example.com "correct horse battery"
want 200 GET /admin/users '' "$token"
say "a team, its manager with a key, and an invitation"
gateway team create --name sales --budget-usd 100 --quiet >/dev/null
key=$(gateway user create --email carl@example.com --team sales --role manager --budget-usd 50 --key laptop --quiet)
calls "$key" 200
invitation=$(token_of "$(gateway user invite --email dora@example.com --team sales --quiet)")
want 201 POST /auth/register "{\"email\":\"dora@example.com\",\"password\":\"correct horse battery\",\"name\":\"Dora\",\"invitation\":\"$invitation\"}"
same "$(gateway team members sales --quiet | sort | tr '\n' ' ')" "carl@example.com dora@example.com " "the members of sales"
say "budgets of the user and of a key of the team"
gateway user limits carl@example.com --budget-usd 0 --quiet
calls "$key" 402
gateway user limits carl@example.com --budget-usd 50 --quiet
calls "$key" 200
shared=$(gateway key create --team sales --name shared --quiet)
calls "$shared" 200
gateway team limits sales --budget-usd 0 --quiet
calls "$shared" 402
calls "$key" 200
say "a rotated key"
key_id=$(gateway key list --user carl@example.com --quiet)
second=$(gateway key rotate "$key_id" --overlap 0s --quiet)
calls "$key" 401
calls "$second" 200
say "a new password, a disabled user, an enabled one, a revoked key, a deleted user"
reset=$(token_of "$(gateway user reset-password dora@example.com --quiet)")
want 200 POST /auth/password/reset "{\"token\":\"$reset\",\"new_password\":\"another horse battery\"}"
gateway user disable carl@example.com --quiet
calls "$second" 401
gateway user enable carl@example.com --quiet
calls "$second" 200
gateway key revoke "$key_id" --quiet
calls "$second" 401
gateway team add sales dora@example.com --role manager --quiet
gateway user delete carl@example.com --quiet
gateway usage --by user,team 2>/dev/null | grep 'carl@example.com, deleted' >/dev/null || fail "usage does not name who was deleted"
gateway user erase carl@example.com --quiet
gateway usage --by user,team 2>/dev/null
if gateway user lits 2>"$folder/fault"; then fail "a wrong word is accepted"; fi
grep -q 'did you mean list' "$folder/fault" || fail "the near word is not named: $(cat "$folder/fault")"

part "every answer was as expected"
