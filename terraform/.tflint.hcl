# The rules that tflint brings; those for AWS are a plugin, which has to be downloaded.
plugin "terraform" {
  enabled = true
  preset  = "all"
}
