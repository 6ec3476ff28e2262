# Greets. $1 is the answer to "name", $2 that to "loud"; a missing answer is "null".
if [ "$1" = null ]; then
  printf '%s' '{"type":"needs_input","question":{"id":"name","text":"Whom shall I greet?","answer_type":{"type":"text"},"default":"world"}}'
elif [ "$2" = null ]; then
  printf '%s' '{"type":"needs_input","question":{"id":"loud","text":"Shall it be loud?","answer_type":"Boolean"}}'
elif [ "$2" = true ]; then
  printf 'HELLO, %s!\n' "$1"
else
  printf 'Hello, %s.\n' "$1"
fi
