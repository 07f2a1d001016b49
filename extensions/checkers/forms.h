/* The two forms of problems that read.h reads: JSON, and tables of comma-separated values. */
static void read_json(char *text, int interval) { /* interval: -1 as the file says, 1 closed, 0 half-open */
  static const char *const pairs[] = {"conflicts", "may_share"}, *const groups[] = {"together", "bank"};
  static Node data; const Node *x, *rows, *row;
  if (data = (at = text, parse(0)), skip(), *at) stop(2, "more than one object");
  fields(&data, PROBLEM, "buffers", NULL), rows = get(&data, "buffers"), n = rows->count;
  is_closed = (x = get(&data, "interval")) ? is_text(x, "\"closed") : interval == 1, read_pools(get(&data, "pools"));
  B = room((size_t)n, sizeof *B), name = room((size_t)n, sizeof *name), traffic = room((size_t)n, sizeof *traffic);
  int *inside = room((size_t)n, sizeof *inside), *tied = room((size_t)n, sizeof *tied), *end = room((size_t)n, sizeof *end);
  W *step = room((size_t)n, sizeof *step), *above = room((size_t)n, sizeof *above), *far = room((size_t)n, sizeof *far);
  for (int i = 0; i < n; i++) {
    row = fields(&rows->item[i], ROW, "id", "size"), name[i] = (Name){get(row, "id"), i};
    B[i] = (Buffer){value(row, "size", 0), value(row, "no_cross", 0), FAR, i, i, 0, 0, ALL_POOLS, NULL, NULL};
    traffic[i] = value(row, "traffic", B[i].size);
  }
  check_ids();
  for (int i = 0; i < n; i++) {
    row = &rows->item[i], tied[i] = inside[i] = (x = get(row, "alias_of")) ? row_of(x) : -1;
    step[i] = value(row, "alias_offset", 0);
    if (x && step[i] + B[i].size > B[inside[i]].size) stop(2, "an alias outside of its buffer");
    if ((x = get(row, "relative"))) tied[i] = row_of(get(fields(x, " to=i offset=d ", "to", "offset"), "to"));
  }
  follow(inside, step, end, above);
  for (int i = 0; i < n; i++) B[i].root = end[i];
  follow(tied, step, end, far);
  for (int i = 0; i < n; i++) B[i].group = end[i], read_row(i, &rows->item[i], above[i]);
  for (int w = 0; w < 2; w++) {
    x = get(&data, pairs[w]);
    for (int k = 0; x && k < x->count; k++) {
      const Node *two = x->item[k].item;
      if (w && row_of(&two[0]) == row_of(&two[1])) stop(2, "a pair of one buffer");
      pair[w] = grown(pair[w], pair_count[w], sizeof(uint64_t));
      pair[w][pair_count[w]++] = key_of(B[row_of(&two[0])].root, B[row_of(&two[1])].root);
    }
    if (pair_count[w]) qsort(pair[w], (size_t)pair_count[w], sizeof(uint64_t), by_number);
    for (int k = 0; (x = get(&data, groups[w])) && k < x->count; k++) {
      const Node *some = &x->item[k];
      if (w) some = get(fields(some, " buffers=I weight=c? ", "buffers", NULL), "buffers");
      if (!is_right('I', "", some)) stop(2, "ids were expected");
      for (int m = 0; m < some->count; m++) row_of(&some->item[m]);
    }
  }
  x = get(&data, "reuse");
  for (int k = 0; x && k < x->count; k++) {
    const Node *use = fields(&x->item[k], " pairs=P cost=a ", "pairs", "cost"), *two = get(use, "pairs");
    for (int m = 0; m < two->count; m++) {
      int a = B[row_of(&two->item[m].item[0])].root, b = B[row_of(&two->item[m].item[1])].root;
      priced = grown(priced, prices_read, sizeof *priced), priced[prices_read].first = a, priced[prices_read].second = b;
      priced[prices_read++].cost = value(use, "cost", 0);
    }
  }
  free(inside), free(tied), free(end), free(step), free(above), free(far);
}
static void read_csv(char *text, int interval) { /* a head with the names of columns, then a row a buffer */
  static const char *const known[] = {"id", "size", "lower", "start", "upper", "end", "alignment", "offset"};
  static const int field[] = {0, 1, 2, 2, 3, 3, 4, 5};
  int column[8], columns = 0, has = 0;
  for (const char *c = text; *c; c++)
    if (*c == '"' || *c == 127 || ((unsigned char)*c < ' ' && *c != '\n' && (*c != '\r' || c[1] != '\n')))
      stop(2, "quotes or control characters in a table");
  for (char *line = text, *rest; line; line = rest) {
    if ((rest = strchr(line, '\n'))) *rest++ = 0;
    if (line[strcspn(line, "\r")] = 0, !line[strspn(line, " ")]) continue;
    W row[6] = {0, 0, 0, 0, 1, FAR}; char *cell = line, *next; int k = 0, is_head = !columns; Node *id = is_head ? NULL : room(1, sizeof *id);
    for (; cell; k++, cell = next) {
      if ((next = strchr(cell, ','))) *next++ = 0;
      if (!is_head && k < columns && !column[k]) { *id = (Node){cell, (int)strlen(cell), 0, NULL}; continue; }
      while (*cell == ' ') cell++;
      char *last = cell + strlen(cell);
      while (last > cell && last[-1] == ' ') *--last = 0;
      if (is_head) {
        int w = 0;
        while (w < 8 && strcmp(cell, known[w])) w++;
        if (w == 8 || has >> field[w] & 1) stop(2, "a column that is not known, or is there twice");
        has |= 1 << field[w], column[columns++] = field[w];
        if (w == 5 && interval < 0) interval = 1;
        continue;
      }
      if (k >= columns) stop(2, "a row of another length");
      if (!*cell && column[k] > 3) continue;
      Node x = {cell, (int)(last - cell), 0, NULL};
      if (!is_right(" bttab"[column[k]], "", &x)) stop(2, "a wrong number");
      const char *after; row[column[k]] = integer(cell, &after);
    }
    if (is_head) {
      if ((has & 15) != 15) stop(2, "a column is missing");
      is_closed = interval == 1;
      continue;
    }
    if (k != columns || !id->length) stop(2, "a row of another length, or an id is missing");
    B = grown(B, n, sizeof *B), name = grown(name, n, sizeof *name), traffic = grown(traffic, n, sizeof *traffic);
    B[n] = (Buffer){row[1], 0, row[5], n, n, 0, 0, ALL_POOLS, NULL, NULL}, name[n] = (Name){id, n}, traffic[n] = row[1];
    Rule rule = {row[4], 0, 0, 0};
    B[n].rule = grown(NULL, 0, sizeof rule), B[n].rule[B[n].rules++] = rule, live(n, row[2], row[3]), n++;
  }
  if (!columns) stop(2, "an empty file");
  if (n) check_ids();
}
