variable "folder" {
  description = "Where to write them."
  type        = string
}
