module user {
  requires org.smdebug;
}
