"""A tool call, from the model's request to the response: permission, execution, questions."""
