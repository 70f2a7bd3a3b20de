# SPDX-License-Identifier: GPL-2.0
# A small lib.mk with the names of the kernel's own.  A room sets, then includes:
#
#   TEST_PROGS           tests that need no building (scripts)
#   TEST_GEN_PROGS       tests built from NAME.c
#   TEST_FILES           other files that the tests need
#   TEST_GEN_FILES       such files and helpers, built from NAME.c
#   TEST_PROGS_EXTENDED  scripts that are installed but are no tests

CFLAGS ?= -O2 -g
# in front, so that a room may take back a warning
override CFLAGS := -std=gnu11 -Wall -Wextra -D_GNU_SOURCE -MMD \
	-I../lib -I../../include -I../../include/uapi $(CFLAGS)

GEN := $(TEST_GEN_PROGS) $(TEST_GEN_FILES)
ROOM := $(notdir $(CURDIR))

all: $(GEN)

# a rule of the room's own for one of these takes precedence
%: %.c
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(LDLIBS)

run_tests: all
	@../run_kselftest.sh -r $(ROOM) $(TEST_PROGS) $(TEST_GEN_PROGS)

install: all
	install -d $(INSTALL_PATH)
	$(if $(TEST_PROGS)$(TEST_PROGS_EXTENDED)$(GEN),install -m 755 \
		$(TEST_PROGS) $(TEST_PROGS_EXTENDED) $(GEN) $(INSTALL_PATH))
	$(if $(TEST_FILES),cp -r $(TEST_FILES) $(INSTALL_PATH))

emit_tests:
	@$(foreach t,$(TEST_PROGS) $(TEST_GEN_PROGS),echo $(ROOM):$(notdir $t);)

clean:
	rm -f $(GEN) *.o *.d $(EXTRA_CLEAN)

-include $(wildcard *.d)

.PHONY: all run_tests install emit_tests clean
.DEFAULT_GOAL := all
