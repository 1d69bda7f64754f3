import { hasFlag, operands } from "../../programs/arguments.ts";
import { changeRule, type Test } from "../production/change.ts";

const has = (test: RegExp): Test => ({ args }) => args.some((arg) => test.test(arg));

/** The verb of `dscl`, behind the node. */
const changesDirectory: Test = (command) =>
  command.args.some((arg) => /^-?(?:create|append|merge|delete|change|changei|passwd)$/i.test(arg));

/** Accounts, directories and schedules, besides the programs of `packs/services`. */
export const ACCOUNT_CHANGES = [
  changeRule({
    id: "production.account",
    title: "Change an account or a directory of accounts",
    changes: [
      {
        names: "usermod",
        needs:
          "-e -f -p -R -P -v -w -V -W -Z --expiredate --inactive --password --root --prefix --add-subuids --del-subuids --add-subgids --del-subgids --selinux-user --unlock --move-home --non-unique --remove --badname",
      },
      {
        names: "rmuser luseradd lusermod luserdel lgroupadd lgroupmod lgroupdel lpasswd lchage",
        passes: "-l --list",
      },
      {
        names: "pw",
        verbs: [
          "useradd|userdel|usermod|groupadd|groupdel|groupmod|lock|unlock|user|group *",
          "!user|group|usershow|groupshow show|next",
        ],
      },
      { names: "chage", passes: "-l --list", when: ({ args }) => args.length > 0 },
      {
        names:
          "chgpasswd pwconv pwunconv grpconv grpunconv vigr addgroup createhomedir mkhomedir_helper",
      },
      { names: "pwck grpck", passes: "-r --read-only" },
      {
        names: "chfn chsh groupmems",
        passes: "-l --list --list-shells",
        when: ({ args }) => args.length > 0,
      },
      { names: "faillock", needs: "--reset" },
      { names: "pam_tally2 pam_tally faillog", needs: "--reset -r -l -m -t" },
      { names: "pam-auth-update", needs: "--enable --disable --remove --force --package" },
      {
        names: "authselect",
        verbs: [
          "select|enable-feature|disable-feature|apply-changes|opt-out|create-profile|uninstall",
          "backup-restore|backup-remove",
        ],
      },
      {
        names: "authconfig",
        needs: "--update --updateall --restorelastbackup --restorebackup --kickstart",
      },
      { names: "realm", verbs: ["join|leave|permit|deny"] },
      {
        names: "adcli",
        verbs: [
          "join|create-user|delete-user|create-group|delete-group|add-member|remove-member|preset-computer|reset-computer|delete-computer|update|passwd-user|create-msa",
        ],
      },
      {
        names: "net",
        verbs: [
          "ads|rpc join|leave|password|changetrustpw|keytab",
          "rpc user|group|share|rights add|delete|grant|revoke|edit",
          "sam|groupmap|idmap|conf|registry|usershare set|add|delete|import|setparm|delparm|addshare|delshare|modify",
        ],
      },
      {
        names: "kadmin kadmin.local",
        when: has(
          /\b(?:add_?princ\w*|ank|cpw|change_password|del_?princ\w*|mod_?princ\w*|rename_?princ\w*|ktadd|xst|ktrem\w*|\w*pol(?:icy)?|purgekeys|setstr)\b/,
        ),
      },
      {
        names: "kdb5_util",
        verbs: ["create|destroy|load|stash|add_mkey|use_mkey|purge_mkeys|update_princ_encryption"],
      },
      { names: "ktutil", needs: "add remove" },
      {
        names: "ipa",
        when: ({ args }) =>
          /-(?:add|del|mod|add-\w+|remove-\w+|enable|disable|unlock|undel|stage|passwd|attach|import|revoke|request|archive|retrieve|reset)$|^passwd$/
            .test(args.find((arg) => !arg.startsWith("-")) ?? ""),
      },
      {
        names: "ipa-server-install ipa-client-install ipa-replica-manage ipactl",
        verbs: ["*", "!status|list|list-ruv"],
      },
      { names: "ipa-client-install ipa-server-install ipa-replica-install" },
      {
        names: "pdbedit",
        needs: "-a -x -m -r -P -C -i -e -u-reset --create --delete --modify --import",
      },
      {
        names: "sysadminctl",
        when: has(
          /^-(?:add|delete|reset|secureToken(?!Status)|newPassword|guestAccount|afp|smb|autologin|screenLock|filesystem)/i,
        ),
      },
      { names: "pwpolicy", when: has(/^-?(?:set|clear|enable|disable|delete)/i) },
      { names: "dscl", when: changesDirectory },
      { names: "cmdkey", when: has(/^\/(?:add|generic|delete|smartcard)/i) },
      { names: "dsmod dsadd dsmove dsrm redircmp redirusr" },
      {
        names: "dsconfigad dsconfigldap",
        passes: "-show -s -l",
        when: ({ args }) => args.length > 0,
      },
      {
        names: "wmic",
        when: ({ args }) =>
          /^(?:useraccount|group|sysaccount|netlogin)$/i.test(args[0] ?? "") &&
          args.some((arg) => /^(?:set|call|delete|create|rename)$/i.test(arg)),
      },
      {
        names: "set-localuser enable-localuser rename-localuser " +
          "new-localgroup " +
          "new-aduser set-aduser enable-adaccount unlock-adaccount " +
          "set-adaccountcontrol set-adaccountexpiration add-adgroupmember " +
          "new-adgroup set-adgroup set-adobject " +
          "move-adobject rename-adobject new-adcomputer set-adcomputer " +
          "new-adorganizationalunit add-adprincipalgroupmembership " +
          "set-gpregistryvalue new-gpo new-gplink set-gplink " +
          "import-gpo restore-gpo set-gppermission grant-aduserrights add-kdsrootkey " +
          "unregister-scheduledtask set-scheduledtask new-scheduledtask register-scheduledjob " +
          "unregister-scheduledjob",
        passes: "-whatif -WhatIf -Whatif",
      },
    ],
    explanation: "It changes who may use the machine or the domain, and with what rights.",
    safer: "Look at the account first: id, chage -l, ipa user-show, Get-LocalUser.",
    hits: [
      "chage -E 0 anna",
      "faillock --user anna --reset",
      "realm join example.com",
      "kadmin -q 'addprinc anna'",
      "ipa group-add-member admins --users anna",
      "dscl . append /Groups/admin GroupMembership anna",
      "sysadminctl -addUser anna -password x",
      "pwsh -c 'Add-ADGroupMember admins anna'",
    ],
    misses: [
      "chage -l anna",
      "faillock --user anna",
      "realm list",
      "kadmin -q 'listprincs'",
      "ipa user-show anna",
      "dscl . -read /Users/anna",
      "sysadminctl -secureTokenStatus anna",
      "pwsh -c 'Get-ADUser anna'",
      "pwck -r",
    ],
  }),
  changeRule({
    id: "production.schedule",
    title: "Change or start scheduled work",
    changes: [
      { names: "at", needs: "-d -r -f" },
      { names: "at", passes: "-l -c -V", verbs: ["*"] },
      { names: "atrm batch" },
      { names: "anacron", passes: "-T -V" },
      {
        names: "run-parts",
        passes: "--test --list --report-only",
        when: (command) => operands(command).some((path) => path.startsWith("/etc/")),
      },
      {
        names: "fcrontab incrontab",
        passes: "-l --list -V",
        when: ({ args, stdin }) => args.length > 0 || stdin !== null,
      },
      { names: "systemd-run", passes: "--user", when: has(/^--(?:on-|timer-property)/) },
      {
        names: "launchctl",
        verbs: [
          "reboot|asuser|bsexec|attach|debug|uncache|reset|remove|unload|bootout|disable|kill|stop|userswitch",
        ],
        when: ({ args }) =>
          ["reboot", "asuser", "bsexec", "attach", "debug", "uncache", "reset", "userswitch"]
            .includes(args[0] ?? ""),
      },
      {
        names: "systemctl",
        verbs: ["set-default|isolate"],
        passes: "--user",
      },
      { names: "atq", when: (command) => hasFlag(command, "d") },
    ],
    explanation: "It adds, removes or starts work that runs by itself, or as another person.",
    safer: "Look at what is planned first: atq, crontab -l, launchctl list.",
    hits: [
      "atrm 3",
      "at 10:00 -f job.sh",
      "anacron -n -f",
      "run-parts /etc/cron.daily",
      "launchctl reboot userspace",
    ],
    misses: [
      "at -l",
      "atq",
      "anacron -T",
      "run-parts --test /etc/cron.daily",
      "launchctl print system",
    ],
  }),
];
