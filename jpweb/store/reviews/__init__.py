"""Reviews: verdicts on questions and conversations, their queues and reviewers."""
