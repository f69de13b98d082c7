/* Each public header stands alone; built as C99 and as C++17, pedantic. */
#include TESTED_HEADER

int main(void) { return 0; }
