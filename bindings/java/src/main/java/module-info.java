/** Records the tensors of a training run, reads them back, and judges them by rules. */
module org.smdebug {
  exports org.smdebug;
}
