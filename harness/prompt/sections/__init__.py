"""The sections of a system prompt: what each says, and when it is there.

Pure. One function for each section gives its text, heading included, or nothing. The order and the modes stand in
`harness.prompt.render` alone.
"""
