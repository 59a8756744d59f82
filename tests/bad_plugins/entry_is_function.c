/* The entry is code, not data. */
__attribute__((visibility("default"))) int pe_plugin_entry(void);
int pe_plugin_entry(void) {
  return 0;
}
