import type { Family } from "../family.ts";
import { always } from "../texts.ts";

/** Programs that run others with another view of the system. */
export const SANDBOXES: readonly Family[] = [
  { names: ["chroot"], wrappers: [{ long: "userspec groups", skip: 1 }], opensShell: always },
  { names: ["gchroot"], wrappers: [{ long: "userspec groups", skip: 1 }] },
  {
    names: ["nsenter"],
    wrappers: [{
      short: "tSGWN",
      attached: "muinpCUTrw",
      long: "target setuid setgid wdns net-socket",
    }],
    opensShell: always,
  },
  {
    names: ["unshare"],
    wrappers: [{
      short: "RwSGl",
      attached: "muinpCUT",
      long:
        "root wd setuid setgid map-user map-group map-users map-groups propagation setgroups load-interp monotonic boottime",
    }],
    opensShell: always,
  },
  { names: ["fakechroot", "fakeroot", "linux32", "linux64"], wrappers: [{}], opensShell: always },
  { names: ["setarch"], wrappers: [{ skip: 1 }], opensShell: always },
  { names: ["proot"], wrappers: [{ short: "rbwqmk" }], opensShell: always },
  { names: ["schroot"], wrappers: [{ short: "Dcumn", long: "directory" }], opensShell: always },
  {
    names: ["minijail0", "nsjail", "systemd-nspawn"],
    wrappers: [{ short: "Dcumn", long: "directory" }],
  },
  { names: ["firejail"], wrappers: [{}] },
];
