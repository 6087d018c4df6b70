#!/bin/sh
# label: unit
# timeout: 120
# toast solve and toast evaluate end to end: the answer of one passes the other, the same units give the same bytes with
# one thread and two, Ctrl-C returns the best so far, damage and infeasible problems have their exit statuses.
set -eu
bin=${TOAST_BIN:?}
dir=$(mktemp -d "${TMPDIR:-/tmp}/toast-cfn.XXXXXX")
trap 'rm -rf "$dir"' EXIT
fail() { echo "$1" >&2; exit 1; }

cat > "$dir/small.json" <<'END'
{"intervals": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]],
 "costs": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],
 "usages": [[10], [25, 25], [15, 20, 15], [10, 10], [15]],
 "edges": {"nodes": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]],
           "costs": [[30, 40], [50, 10, 40], [90, 10, 20, 80], [60, 20, 30], [70, 60]]},
 "usage_limit": 50}
END
"$bin/toast" solve "$dir/small.json" --units 10 > "$dir/out" 2> /dev/null
grep -q '^status optimal$' "$dir/out" || fail "not proved"
grep -q '^cost 445$' "$dir/out" || fail "not 445"
test "$(tail -n 1 "$dir/out")" = "[0, 0, 2, 1, 0]" || fail "the last line is not the answer"
"$bin/toast" evaluate "$dir/small.json" --solution "$dir/out" > "$dir/verdict"
grep -q '^cost 445$' "$dir/verdict" && grep -q '^feasible$' "$dir/verdict" || fail "the referee disagrees"
echo "[0, 0, 1, 1, 0]" > "$dir/heavy"
status=0; "$bin/toast" evaluate "$dir/small.json" --solution "$dir/heavy" > "$dir/verdict" || status=$?
test $status = 3 && grep -q 'usage 55 at time 50' "$dir/verdict" || fail "the violated time is not named"

sed 's/"usage_limit": 50/"usage_limit": 40/' "$dir/small.json" > "$dir/tight.json"
status=0; "$bin/toast" solve "$dir/tight.json" > "$dir/out" 2> /dev/null || status=$?
test $status = 3 && grep -q 'infeasible: at time 50 usage is at least 50' "$dir/out" || fail "no verdict"
sed 's/\[30, 40\]/[30, oops]/' "$dir/small.json" > "$dir/bad.json"
status=0; "$bin/toast" solve "$dir/bad.json" 2> "$dir/err" || status=$?
test $status = 2 && grep -q '/edges/costs/0/1' "$dir/err" && grep -q byte "$dir/err" || fail "the damage is not named"

"$bin/bench_cfn_generate" --nodes 1500 --seed 3 | gzip > "$dir/made.json.gz"
"$bin/toast" solve "$dir/made.json.gz" --units 120 --threads 1 --trace "$dir/trace" > "$dir/one" 2> /dev/null
"$bin/toast" solve "$dir/made.json.gz" --units 120 --threads 2 > "$dir/two" 2> /dev/null
cmp "$dir/one" "$dir/two" || fail "threads change the answer"
grep -q '^reproducible: true' "$dir/one" || fail "not called reproducible"
head -n 1 "$dir/trace" | grep -q '^seconds,cost,bound$' || fail "no trace"
"$bin/toast" solve "$dir/made.json.gz" --seconds 100 > "$dir/cut" 2> /dev/null &
pid=$!
sleep 3
kill -INT $pid
wait $pid || fail "interrupted: no answer"
grep -q '^reproducible: false' "$dir/cut" || fail "a cut answer is called reproducible"
"$bin/toast" evaluate "$dir/made.json.gz" --solution "$dir/cut" | grep -q '^feasible$' || fail "the cut answer is bad"
