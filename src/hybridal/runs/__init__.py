"""The run folder: settings, round records, checkpoint, and how a run resumes."""
