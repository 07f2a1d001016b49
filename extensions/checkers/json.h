/* Read JSON for check.c, and take the SHA-256 of a file. What is not in docs/certificates.md ends with status 2. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__extension__ typedef __int128 W; /* sums of a million numbers below 2^63 */
typedef struct Node { char *text; int length, count; struct Node *item; } Node; /* of objects: key, value, key, ... */
static char *at;

static void stop(int status, const char *why) {
  printf("%s: %s\n", status == 3 ? "refused" : "wrong input", why); exit(status);
}
static void *grown(void *old, long long count, size_t bytes) {
  void *p = old; /* room for one more: twice as much at each power of two */
  if (!(count & (count - 1)) && !(p = realloc(old, ((size_t)count * 2 + 1) * bytes))) stop(2, "no memory");
  return p;
}
static void *room(size_t count, size_t bytes) {
  void *p = calloc(count + 1, bytes);
  if (!p) stop(2, "no memory");
  return p;
}
static W digits(const char *text, int most, const char **after) { /* no sign, no 0 before others */
  W x = 0; int count = (int)strspn(text, "0123456789");
  if (!count || count > most || (*text == '0' && count > 1)) stop(2, "a wrong number");
  for (int k = 0; k < count; k++) x = x * 10 + (text[k] - '0');
  return *after = text + count, x;
}
static W integer(const char *text, const char **after) { /* of at most 64 bits */
  int is_below = *text == '-'; W x = digits(text + is_below, 19, after);
  if ((is_below && !x) || x > (W)INT64_MAX + is_below) stop(2, "a number beyond its range");
  return is_below ? -x : x;
}
static void check_utf8(const unsigned char *c) {
  while (*c) {
    unsigned head = *c++, more = head < 0x80 ? 0 : head < 0xc2 ? 9 : head < 0xe0 ? 1 : head < 0xf0 ? 2 : head < 0xf5 ? 3 : 9;
    unsigned low = head == 0xe0 ? 0xa0 : head == 0xf0 ? 0x90 : 0x80, high = head == 0xed ? 0x9f : head == 0xf4 ? 0x8f : 0xbf;
    if (more == 9) stop(2, "no UTF-8");
    for (; more; more--, low = 0x80, high = 0xbf, c++) if (*c < low || *c > high) stop(2, "no UTF-8");
  }
}
static void skip(void) { while (*at && strchr(" \t\r\n", *at)) at++; }
static unsigned hexadecimal(void) { /* four digits */
  unsigned x = 0;
  for (int k = 0; k < 4; k++, at++) {
    if (!isxdigit((unsigned char)*at)) stop(2, "a wrong escape");
    x = x * 16 + (unsigned)(isdigit((unsigned char)*at) ? *at - '0' : tolower(*at) - 'a' + 10);
  }
  return x;
}
static char *put(char *to, unsigned x) { /* as UTF-8 */
  if (x < 0x80) return *to = (char)x, to + 1;
  int more = x < 0x800 ? 1 : x < 0x10000 ? 2 : 3;
  *to++ = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | x >> 6 * more);
  while (more--) *to++ = (char)(0x80 | (x >> 6 * more & 0x3f));
  return to;
}
static Node string(void) { /* its escapes are replaced where it stands; what is kept begins with its quote */
  Node x = {at++, 0, 0, NULL};
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char *to = at;
  while (*at != '"') {
    if ((unsigned char)*at < ' ') stop(2, "a control character, or a string without an end");
    if (*at != '\\') { *to++ = *at++; continue; }
    const char *found = *++at ? strchr(names, *at) : NULL;
    if (found) { *to++ = values[found - names], at++; continue; }
    if (*at++ != 'u') stop(2, "a wrong escape");
    unsigned code = hexadecimal();
    if (code >= 0xdc00 && code < 0xe000) stop(2, "a surrogate alone");
    if (code >= 0xd800 && code < 0xdc00) {
      if (*at++ != '\\' || *at++ != 'u') stop(2, "a surrogate alone");
      unsigned low = hexadecimal();
      if (low < 0xdc00 || low >= 0xe000) stop(2, "a surrogate alone");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    to = put(to, code);
  }
  return at++, x.length = (int)(to - x.text), x;
}
static Node parse(int depth) {
  Node x = {(skip(), at), 0, 0, NULL};
  if (*at == '"') return string();
  if (*at == '[' || *at == '{') {
    char open = *at++, close = open == '[' ? ']' : '}';
    if (depth > 60) stop(2, "too deep");
    for (skip(); *at != close; skip()) {
      if (x.count && *at++ != ',') stop(2, "a comma was expected");
      if (skip(), open == '{' && *at != '"') stop(2, "a key was expected");
      x.item = grown(x.item, x.count, sizeof x), x.item[x.count] = parse(depth + 1), x.count++;
      if (open == '[') continue;
      if (skip(), *at++ != ':') stop(2, "a colon was expected");
      x.item = grown(x.item, x.count, sizeof x), x.item[x.count] = parse(depth + 1), x.count++;
    }
    at++;
  } else while (*at && !strchr(",]}:\" \t\r\n", *at)) at++;
  if ((x.length = (int)(at - x.text)) == 0) stop(2, "a value was expected");
  return x;
}
static int is_text(const Node *x, const char *text) {
  return x->length == (int)strlen(text) && !memcmp(x->text, text, (size_t)x->length);
}
static const Node *get(const Node *object, const char *key) { /* NULL where it is absent, or null */
  for (int k = 0; k < object->count; k += 2) {
    const Node *name = &object->item[k];
    if (name->length - 1 == (int)strlen(key) && !memcmp(name->text + 1, key, strlen(key)))
      return is_text(&object->item[k + 1], "null") ? NULL : &object->item[k + 1];
  }
  return NULL;
}
static W value(const Node *object, const char *key, W otherwise) {
  const Node *found = get(object, key); const char *after; return found ? integer(found->text, &after) : otherwise;
}
static int differ(const Node *x, const Node *y) {
  return x->length != y->length ? x->length - y->length : memcmp(x->text, y->text, (size_t)x->length);
}

static uint32_t turned(uint32_t x, int by) { return x >> by | x << (32 - by); }
static void sha256(const char *text, char hex[65]) { /* FIPS 180-4; its constants are roots of the first primes */
  uint32_t h[8], k[64]; size_t size = strlen(text), padded = (size + 72) / 64 * 64; int count = 0;
  unsigned char *data = room(padded, 1);
  for (uint32_t p = 2; count < 64; p++) {
    int is_prime = 1; W cube = (W)p << 96, square = (W)p << 64, root = 0;
    for (uint32_t d = 2; d * d <= p; d++) if (p % d == 0) is_prime = 0;
    if (!is_prime) continue;
    for (int bit = 35; bit >= 0; bit--) { W x = root | (W)1 << bit; if (x * x * x <= cube) root = x; }
    k[count] = (uint32_t)root, root = 0;
    for (int bit = 36; bit >= 0; bit--) { W x = root | (W)1 << bit; if (x * x <= square) root = x; }
    if (count < 8) h[count] = (uint32_t)root;
    count++;
  }
  memcpy(data, text, size), data[size] = 0x80;
  for (int b = 0; b < 8; b++) data[padded - 1 - (size_t)b] = (unsigned char)((uint64_t)size * 8 >> 8 * b);
  for (size_t block = 0; block < padded; block += 64) {
    uint32_t w[64], v[8];
    for (int t = 0; t < 16; t++) w[t] = (uint32_t)data[block + 4 * (size_t)t] << 24 | (uint32_t)data[block + 4 * (size_t)t + 1] << 16
        | (uint32_t)data[block + 4 * (size_t)t + 2] << 8 | data[block + 4 * (size_t)t + 3];
    for (int t = 16; t < 64; t++) w[t] = w[t - 16] + w[t - 7] + (turned(w[t - 15], 7) ^ turned(w[t - 15], 18) ^ w[t - 15] >> 3)
        + (turned(w[t - 2], 17) ^ turned(w[t - 2], 19) ^ w[t - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (int t = 0; t < 64; t++) {
      uint32_t one = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[t] + w[t];
      uint32_t two = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      memmove(v + 1, v, 7 * sizeof *v), v[4] += one, v[0] = one + two;
    }
    for (int t = 0; t < 8; t++) h[t] += v[t];
  }
  for (int t = 0; t < 8; t++) sprintf(hex + 8 * t, "%08x", h[t]);
  free(data);
}
