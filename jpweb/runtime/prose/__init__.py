"""What events hold, as HTML that is safe to show: each as what it is, none of it obeyed."""

from jpweb.runtime.prose.markdown import html

__all__ = ["html"]
