# Says something before its outcome, leaves a child behind, and fails.
echo 'starting up ...'
printf '%s\n' '{"type":"needs_input","question":{"id":"a.b","text":"?","answer_type":"Text"}}'
sleep 600 &
echo 'something is wrong' >&2
exit 3
