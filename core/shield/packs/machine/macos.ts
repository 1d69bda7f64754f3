import { wordsOf } from "../../programs/arguments.ts";
import { changeRule, type Test } from "../production/change.ts";

/** Settings of the whole machine, by their file: `/Library/Preferences/com.apple.alf`. */
const OF_MACHINE = /^\/(?:Library|System|var|private)\//i;
/** Settings that protect a person or a machine: the firewall, quarantine, updates, the lock of the screen, privacy. */
const PROTECTING =
  /^com\.apple\.(?:alf|launchservices|softwareupdate|screensaver|loginwindow|security\S*|tcc|mdmclient|applicationfirewall|remotemanagement|remotedesktop|xprotect\S*|mobileaccounts?|screensharing|commerce|crashreporter|gatekeeper\S*)$/i;
const KEYS = /^(?:LSQuarantine|askForPassword\w*|AutoUpdate|AutomaticCheckEnabled|globalstate)$/i;

/** `defaults write /Library/Preferences/com.apple.alf globalstate -int 0`. */
const changesProtection: Test = (command) => {
  const [verb = "", domain = "", key = ""] = wordsOf(command).filter((word) =>
    word !== "currentHost"
  );
  return ["write", "delete", "rename", "import"].includes(verb.toLowerCase()) &&
    (OF_MACHINE.test(domain) || PROTECTING.test(domain) || KEYS.test(key));
};

const names = (test: RegExp): Test => ({ args }) => args.some((arg) => test.test(arg));

/** macOS: what it forbids, records, and takes from its administrators. */
export const MACOS_CHANGES = [
  changeRule({
    id: "production.macos",
    title: "Change a protection or a setting of macOS",
    changes: [
      { names: "defaults", when: changesProtection },
      {
        names: "fdesetup",
        verbs: [
          "enable|disable|add|remove|removerecovery|changerecovery|authrestart|sync|destroyrecovery",
          "haspersonalrecoverykey|hasinstitutionalrecoverykey *",
        ],
      },
      { names: "tccutil", verbs: ["reset|insert|--insert|--enable|--disable"] },
      { names: "tccutil", needs: "-i -e -d -r --insert --remove" },
      {
        names: "pmset",
        when: (command) => names(/^-[abcu]$/)(command) && command.args.length > 1,
      },
      {
        names: "pmset",
        verbs: [
          "schedule|repeat|relative|restoredefaults|touch|sleepnow|displaysleepnow|force|resetdisplayambientparams",
        ],
      },
      {
        names: "softwareupdate",
        when: names(
          /^--?(?:i|ia|ir|install|schedule|ignore|reset-ignored|set-catalog|background)$/,
        ),
      },
      { names: "softwareupdate", needs: "-i -ia -ir --install --install-rosetta --ignore" },
      {
        names: "profiles",
        verbs: ["remove|install|renew|delete|sync"],
      },
      { names: "profiles", needs: "-R -D -I -N -r", passes: "-L -P -S -H" },
      {
        names: "xattr",
        when: (command) =>
          names(/com\.apple\.quarantine$|^com\.apple\.rootless$/)(command) &&
            names(/^-[rsv]*[dw][rsv]*$/)(command) ||
          names(/^-[rsv]*c[rsv]*$/)(command),
      },
      { names: "spctl", when: names(/^--?(?:master|global|add|remove|enable|disable|reset)/) },
      {
        names: "systemsetup networksetup",
        when: names(
          /^-(?:set|add|remove|delete|create|switch|order|rename|enable|disable|detect|power)/i,
        ),
      },
      {
        names: "scutil",
        needs: "--set --prefs",
      },
      { names: "kickstart", when: names(/^-(?:activate|deactivate|configure|restart|uninstall)$/) },
      { names: "kmutil kextload kextunload kextutil", passes: "-n --no-load" },
      { names: "bless", when: names(/^--(?:setBoot|mount|folder|file|device|netboot)$/) },
      { names: "dseditgroup", needs: "-o", when: names(/^(?:create|delete|edit)$/) },
      { names: "sharing", needs: "-a -r -e" },
      { names: "mdutil", when: names(/^-[adv]*[iEXLP]/) },
      { names: "createmobileaccount" },
      { names: "security", verbs: ["add-trusted-cert|remove-trusted-cert|trust-settings-import"] },
      {
        names: "security",
        verbs: [
          "authorizationdb write|remove",
          "delete-keychain|delete-certificate|set-keychain-password|set-key-partition-list",
          "unlock-keychain|set-keychain-settings|import|add-certificates",
        ],
      },
      { names: "tmutil", verbs: ["disable|delete|deletelocalsnapshots|setdestination"] },
      { names: "tmutil", verbs: ["removedestination|addexclusion|restore|thinlocalsnapshots"] },
    ],
    explanation:
      "It changes what macOS forbids, records or asks for, for everybody on the machine.",
    safer: "Look at the present setting first: defaults read, fdesetup status, profiles list.",
    hits: [
      "sudo defaults write /Library/Preferences/com.apple.alf globalstate -int 0",
      "defaults write com.apple.LaunchServices LSQuarantine -bool NO",
      "sudo fdesetup disable",
      "xattr -dr com.apple.quarantine /Applications/Tool.app",
      "tccutil reset All",
      "sudo pmset -a disablesleep 1",
      "softwareupdate --schedule off",
      "profiles remove -all",
    ],
    misses: [
      "defaults read /Library/Preferences/com.apple.alf",
      "defaults write com.apple.dock autohide -bool true",
      "fdesetup status",
      "xattr -l Tool.app",
      "pmset -g",
      "softwareupdate -l",
      "profiles list",
      "systemsetup -getremotelogin",
      "tmutil listbackups",
    ],
  }),
];
