# SPDX-License-Identifier: GPL-2.0
# Owns what a user or a developer types.  A room that cannot be built here is
# skipped with the reason; `make guest` and what follows bring their own Debian.

PREFIX ?= /usr
MANDIR ?= $(PREFIX)/share/man
ifdef KDIR
KVER := $(shell cat $(KDIR)/include/config/kernel.release)
endif
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
MODULES = kmod/xroce.ko kmod/xroce_bell.ko
# Where /lib leads: what is unpacked over / must not bring a /lib of its own
MODROOT ?= $(realpath /lib)/modules
MODDIR = $(DESTDIR)$(MODROOT)/$(KVER)/updates
depmod = [ -n "$(DESTDIR)" ] || [ ! -d $(MODROOT)/$(KVER) ] || depmod $(KVER)
VERSION = $(shell sed -n 's/^\#define XROCE_VERSION.*"\(.*\)"/\1/p' include/xroce/link.h)
DKMS_SRC = $(DESTDIR)/usr/src/xroce
# What DKMS has, of whatever version, and not what is somebody's own, goes; it says itself
# what it does not know
dkms_has = $(patsubst %/dkms.conf,%,$(wildcard $(DKMS_SRC)-*/dkms.conf))
no_dkms = for d in $(dkms_has); do \
		[ -n "$(DESTDIR)" ] || dkms remove xroce/$${d\#\#*/xroce-} --all || :; \
		rm -rf $$d; done
# of the libibverbs that is installed
RDMA_CORE ?= $(firstword $(wildcard /usr/src/rdma-core/include) \
	$(CURDIR)/build/rdma-core-$(shell pkg-config --modversion libibverbs 2>/dev/null)/include)
BPFTOOL ?= $(firstword $(shell PATH=$$PATH:/usr/sbin command -v bpftool) bpftool)
CLANG ?= clang
VMLINUX_BTF ?= $(firstword $(wildcard $(KDIR)/vmlinux) /sys/kernel/btf/vmlinux)
export PREFIX KVER KDIR RDMA_CORE BPFTOOL CLANG VMLINUX_BTF DESTDIR

# $(call room,NAME,CHECK...): each CHECK is a shell command that says, when
# something is missing, what.  The room is built if none says anything.
room = @why=$$({ [ -d $1 ] || echo "not there"; $2 } 2>&1); \
	if [ -z "$$why" ]; then $(MAKE) -C $1 all; else \
	echo "$1: skipped:" $$why; fi
has = command -v $1 >/dev/null || echo "no $1 ($2);";
lib = pkg-config --exists $1 || echo "no $1 ($2);";

all: kmod userlib bpf rdmatool

kmod:
	$(call room,kmod,printf '6.12\n%s\n' "$(or $(KVER),6.12)" | sort -CV || \
		echo "kernel $(KVER) is older than 6.12;"; \
		[ -e $(KDIR)/Makefile ] || \
		echo "no kernel headers in $(KDIR) (linux-headers-$(KVER) or KDIR=)";)

userlib:
	$(call room,userlib,$(call lib,libibverbs,libibverbs-dev) \
		[ -e $(RDMA_CORE)/config.h ] || \
		scripts/rdma-core-headers $(RDMA_CORE) 2>&1 >/dev/null | tail -n 1;)

bpf:
	$(call room,bpf,$(call has,$(CLANG),clang) $(call has,$(BPFTOOL),bpftool) \
		$(call lib,libbpf,libbpf-dev) \
		[ -r $(VMLINUX_BTF) ] || echo "no BTF of a kernel (VMLINUX_BTF=)";)

rdmatool: bpf
	$(call room,rdmatool,$(call lib,libnl-3.0,libnl-3-dev) \
		$(call lib,libnl-genl-3.0,libnl-genl-3-dev) \
		$(call lib,libnl-route-3.0,libnl-route-3-dev) \
		$(call lib,zlib,zlib1g-dev))

# Installs what was built, and says what was not
not_built = echo "$1: not built, not installed"
install:
	@if [ -n "$(dkms_has)" ]; then echo "kmod: left to DKMS"; \
	elif grep -aqsF 'vermagic=$(KVER) ' kmod/xroce.ko; then set -ex; \
		install -D -m 644 -t $(MODDIR) $(MODULES); \
		$(CROSS_COMPILE)strip --strip-debug $(addprefix $(MODDIR)/,$(notdir $(MODULES))); \
		$(depmod); \
	else $(call not_built,kmod for $(KVER)); fi
	@if [ -e $(RDMA_CORE)/config.h ] && ls userlib/*.so >/dev/null 2>&1; then $(MAKE) -C userlib install; \
	else $(call not_built,userlib); fi
	@if [ -e bpf/xroce.bpf.o ]; then $(MAKE) -C bpf install; \
	else $(call not_built,bpf); fi
	@if [ -e rdmatool/rdmatool ]; then $(MAKE) -C rdmatool install; \
	else $(call not_built,rdmatool); fi
	@for m in $(wildcard docs/man/*.[1-8]); do \
		install -D -m 644 $$m $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/}; done

# The modules by DKMS instead, for this kernel, for others whose headers are there, if they
# will have them, and for each that comes; with DESTDIR the sources alone
dkms:
	$(no_dkms)
	for f in $$(find kmod include \( -name '*.[ch]' -o -name Kbuild -o -name Makefile \) \
			! -name '*.mod.c' ! -name .module-common.c); do \
		install -D -m 644 $$f $(DKMS_SRC)-$(VERSION)/$$f; done
	sed 's/@VERSION@/$(VERSION)/' kmod/dkms.conf | \
		install -m 644 /dev/stdin $(DKMS_SRC)-$(VERSION)/dkms.conf
	[ -n "$(DESTDIR)" ] || { rm -f $(addprefix $(MODDIR)/,$(notdir $(MODULES))); \
		dkms install xroce/$(VERSION) -k $(KVER); }
	[ -n "$(DESTDIR)" ] || for k in \
		$(patsubst %/build,%,$(filter-out %/$(KVER)/build,$(wildcard /lib/modules/*/build))); \
		do dkms install xroce/$(VERSION) -k $${k##*/} || :; done

uninstall:
	$(no_dkms)
	rm -f $(addprefix $(MODDIR)/,$(notdir $(MODULES)))
	$(depmod)
	for m in $(wildcard docs/man/*.[1-8]); do \
		rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/}; done
	failed=0; for room in userlib bpf rdmatool; do \
		[ ! -d $$room ] || $(MAKE) -C $$room uninstall || failed=1; done; \
		exit $$failed

clean:
	[ ! -e $(KDIR)/Makefile ] || $(MAKE) -C kmod clean
	for room in userlib bpf rdmatool selftests; do \
		[ ! -e $$room/Makefile ] || $(MAKE) -C $$room clean; done

distclean: clean
	rm -rf build

# From here on: in the Debian 13 root and in the guest (docs/guest.md)
guest:
	@scripts/guest "$$CMD"

shell:
	@scripts/guest --shell

demo:
	@scripts/demo

debug-kernel:
	scripts/debug-kernel

check:
	scripts/check

test:
	scripts/test

test-all:
	scripts/test --all

peers:
	scripts/test peers

bench:
	@scripts/bench

profile:
	@scripts/profile $(SPEC)

.PHONY: all kmod userlib bpf rdmatool install dkms uninstall clean distclean
.PHONY: guest shell demo debug-kernel check test test-all peers bench profile
