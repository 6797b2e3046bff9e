/*
 * commands.h - the list of commands. X(name) stands for cmd_<name>.c, which ends in a
 * `const command command_<name>`. A new command is that file and a line here: main.c,
 * cli/CMakeLists.txt, help, completions and the manual go over this list, in this order.
 */
#ifndef NAY_COMMANDS_H
#define NAY_COMMANDS_H

#define NAY_COMMANDS(X) \
  X(plan)               \
  X(build)              \
  X(check)              \
  X(explain)            \
  X(info)               \
  X(verify)             \
  X(add)                \
  X(remove)             \
  X(merge)              \
  X(fold)               \
  X(convert)            \
  X(uniq)               \
  X(diff)               \
  X(common)             \
  X(sst)                \
  X(map)                \
  X(list)               \
  X(extract)            \
  X(prune)              \
  X(puffin)             \
  X(bench)              \
  X(plot)               \
  X(complete)           \
  X(man)                \
  X(version)            \
  X(help)

#endif /* NAY_COMMANDS_H */
