import type { Rule, SimpleCommand } from "../../model.ts";
import { optionValues, wordsOf } from "../../programs/arguments.ts";
import { changeRule } from "./change.ts";

/** Changes of machines by tools that bring them into a described state. */
export const CONFIGURATION_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.configuration_apply",
    title: "Apply the configuration of machines",
    changes: [
      {
        names: "ansible-playbook ansible-pull ansible-navigator ansible-runner",
        passes: "-C --check --syntax-check --list-hosts --list-tasks --list-tags",
        valued: "-e --extra-vars -i --inventory -l --limit -t --tags --skip-tags -u --user",
        when: appliesPlaybook,
      },
      {
        names: "puppet",
        passes: "--noop",
        verbs: ["apply|agent|device", "job|task|plan run", "script run"],
      },
      {
        names: "puppet",
        passes: "--noop",
        verbs: ["resource * *"],
        when: ({ args }) => args.some((arg) => /^[a-z_]+=/.test(arg)),
      },
      {
        names: "puppet",
        verbs: [
          "config set|delete",
          "cert|ca sign|clean|revoke|generate",
          "certificate revoke|generate",
          "node clean|deactivate|purge",
          "module install|upgrade|uninstall",
          "ssl clean|bootstrap|submit_request",
          "code deploy",
        ],
      },
      {
        names: "puppetserver",
        verbs: ["ca sign|clean|revoke|generate|setup|migrate|delete", "start|stop|reload|gem"],
      },
      { names: "bolt", passes: "--noop", verbs: ["apply", "task|plan|script run", "file upload"] },
      { names: "r10k g10k", verbs: ["deploy environment|module"] },
      {
        names: "chef-client chef-solo chef-apply cinc-client cinc-solo",
        passes: "-W --why-run",
        valued: "-o --override-runlist -j --json-attributes -c -E -N -l -L",
        hasH: true,
      },
      { names: "chef-run", when: ({ args }) => args.length > 0 },
      {
        names: "knife",
        verbs: [
          "bootstrap|upload|reconfigure",
          "cookbook upload|delete|bulk",
          "node|role|environment|client|user|group|acl create|edit|from|run_list|policy|reregister|add|bulk|environment_set",
          "data bag create|edit|from|delete",
          "data_bag create|edit|from|delete",
          "vault create|update|edit|rotate|refresh|delete",
          "supermarket share|unshare",
          "job start",
        ],
      },
      {
        names: "chef",
        verbs: [
          "push|push-archive|delete-policy|delete-policy-group|clean-policy-revisions|undelete",
        ],
      },
      { names: "mitamae itamae cfn-init", passes: "-n --dry-run", verbs: ["*"] },
      { names: "salt-cp", verbs: ["* *"] },
      { names: "cf-agent", passes: "-n --dry-run" },
      { names: "salt-call salt salt-ssh", when: runsSalt },
      { names: "salt-run", verbs: ["*"], when: runsSalt },
      {
        names: "salt-key",
        needs:
          "-a --accept -A --accept-all -r --reject -R --reject-all -d --delete -D --delete-all --gen-keys",
      },
      {
        names: "salt-cloud",
        needs: "-p --profile -m --map -d --destroy -a --action -f --function -u --update-bootstrap",
      },
      {
        names: "ansible",
        passes: "-C --check --list-hosts",
        valued: "-a --args -i --inventory -l --limit -e --extra-vars -u --user",
        when: changesByModule,
      },
    ],
    weight: [4, 3],
    explanation: "It changes the packages, files or services of every machine that it reaches.",
    safer: "Rehearse first (--check, --noop, --why-run, test=True), and begin with one machine.",
    hits: [
      "ansible-playbook site.yml",
      "ansible-playbook -i prod deploy.yml --limit web --diff",
      "ansible web -m apt -a 'name=nginx state=present'",
      "ansible web -m service -a 'name=nginx state=started'",
      "ansible-pull -U https://git.example.com/a.git",
      "puppet agent -t",
      "puppet apply site.pp --no-noop",
      "chef-client -o 'recipe[web]'",
      "salt '*' state.apply",
      "salt 'web*' pkg.install nginx",
      "knife bootstrap web1 -N web1",
      "salt-call state.highstate",
    ],
    misses: [
      "ansible-playbook site.yml --check --diff",
      "ansible-playbook site.yml --syntax-check",
      "ansible all -m ping",
      "ansible web -m shell -a uptime",
      "ansible all -m setup -a 'filter=ansible_distribution*'",
      "ansible web -m apt -a 'name=nginx state=present' -C",
      "ansible all -m copy -a 'src=a dest=/tmp/a'",
      "puppet agent -t --noop",
      "puppet resource service sshd",
      "chef-client --why-run",
      "salt '*' test.ping",
      "salt '*' state.apply test=True",
      "salt '*' service.status nginx",
      "knife node list",
      "salt-key -L",
    ],
  }),
];

function appliesPlaybook(command: SimpleCommand): boolean {
  const [verb = ""] = wordsOf(command);
  switch (command.name) {
    case "ansible-navigator":
    case "ansible-runner":
      return verb === "run" || verb === "start";
    default:
      return !command.args.every((arg) => arg === "--version");
  }
}

/** Modules of Ansible that only ask; what `command` and `shell` run is judged by itself. */
const ASKING_MODULES = new Set(
  ("assert async_status command debug fail fetch find gather_facts getent meta package_facts ping " +
    "raw script service_facts set_fact setup shell slurp stat uri validate_argument_spec wait_for " +
    "wait_for_connection win_command win_ping win_shell win_stat expect").split(" "),
);

function changesByModule(command: SimpleCommand): boolean {
  const named = optionValues(command, "-m", "--module-name").at(-1);
  if (named === undefined) return false;
  const name = named.slice(named.lastIndexOf(".") + 1);
  if (ASKING_MODULES.has(name) || name.endsWith("_info") || name.endsWith("_facts")) return false;
  const text = optionValues(command, "-a", "--args").join(" ");
  return !/(?:^|\s)(?:dest|path|name)=\/tmp\/[\w./-]+(?:\s|$)/.test(text) || text.includes("..");
}

/** The first pieces of Salt's functions that only ask. */
const ASKING = new Set(
  ("active available avail cat config_get count diff disk_usage enabled exist exists export fetch find " +
    "get grep hash info is items latest list locate lookup ls missing ping pgrep present read readlink " +
    "running search show size stat stats status tail test usage uptime version versions which whoami " +
    "doc file_exists directory_exists access checksum contains valid verify").split(" "),
);

/** Modules of Salt of which every function only asks. */
const ASKING_MODULES_OF_SALT = new Set(
  ("test grains status sys disk network pillar mine match jobs manage ps config cmd cmdmod event " +
    "survey fileserver doc").split(" "),
);
const CHANGING_OF_SALT = new Set(["grains.set", "grains.setval", "grains.append", "grains.delval"]);

function runsSalt(command: SimpleCommand): boolean {
  if (command.args.some((arg) => /^test=(?:true|1)$/i.test(arg))) return false;
  // `salt` names the machines first.
  const words = wordsOf(command).slice(
    command.name === "salt" || command.name === "salt-ssh" ? 1 : 0,
  );
  const name = words.find((word) => SALT_FUNCTION.test(word))?.toLowerCase();
  if (name === undefined) return false;
  if (CHANGING_OF_SALT.has(name)) return true;
  const [module = "", task = ""] = name.split(".");
  return !ASKING_MODULES_OF_SALT.has(module) && !ASKING.has(task) &&
    !ASKING.has(task.split("_", 1)[0]!);
}

const SALT_FUNCTION = /^[a-z_0-9]+\.[a-z_0-9]+$/i;
