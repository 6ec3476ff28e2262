"""Reviews: verdicts on questions and conversations, their queues, and who works on them."""
