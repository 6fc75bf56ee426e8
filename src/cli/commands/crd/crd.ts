/** `kopf crd`: prints the CRDs of an operator as YAML, or compares them with those in files or in a cluster (check.ts). */
import type { Command } from 'commander'
import { formatYaml } from '../../../util/yaml.ts'
import { collect } from '../../embedded.ts'
import { addExamples, choiceOption } from '../../help.ts'
import { addClusterOptions } from '../../options/cluster.ts'
import { print } from '../../terminal.ts'
import type { CheckArguments } from './check.ts'
import { addMigrateCommand } from './migrate.ts'

interface CrdArguments extends CheckArguments {
  readonly module?: readonly string[]
}

export function addCrdCommand(program: Command): void {
  const command = program
    .command('crd')
    .summary('print the CRDs of an operator, or check them for breaking changes')
    .description(
      'Prints the CustomResourceDefinitions of all resources that the operator in these files defines with defineResource, ' +
        'as YAML for `kubectl apply -f -`. With --check or --check-cluster, it prints the differences from a file or a cluster ' +
        'instead, each with its effect: breaking or compatible. It exits with 1 if there are differences; with --fail-on ' +
        'breaking, only if one of them is breaking.',
    )
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
    .optionsGroup('Drift:')
    .option('--check <file>', 'compare with the CRDs in this YAML or JSON file; can be repeated', collect)
    .option('--check-cluster', 'compare with the CRDs in the cluster')
    .addOption(
      choiceOption('--fail-on <differences>', 'the differences that make the command exit with 1', [
        'any',
        'breaking',
      ]).default('any'),
    )
    .addOption(choiceOption('-o, --output <format>', 'the format of the differences', ['text', 'json']).default('text'))
  addClusterOptions(command)
  addExamples(command, [
    'npx kopf crd operator.ts > crds.yaml',
    'npx kopf crd operator.ts | kubectl apply -f -',
    'npx kopf crd operator.ts --check crds.yaml',
    'npx kopf crd operator.ts --check crds.yaml --fail-on breaking -o json',
    'npx kopf crd operator.ts --check-cluster --context production',
    'npx kopf crd migrate operator.ts --context production',
  ]).action(async (files: readonly string[]) => crdCommand(command, files, command.opts<CrdArguments>()))
  addMigrateCommand(command)
}

async function crdCommand(command: Command, files: readonly string[], args: CrdArguments): Promise<void> {
  if (files.length + (args.module ?? []).length === 0)
    command.error('error: no operator. Name a file, or a module with --module.')
  // Imported late: help and usage errors do not need it.
  const [{ checkCrds }, { loadCrds }] = await Promise.all([import('./check.ts'), import('./load-crds.ts')])
  const crds = await loadCrds(files, args.module ?? [], 'print')
  if (args.check === undefined && !args.checkCluster) print(crds.map(formatYaml).join('---\n').trimEnd())
  else await checkCrds(crds, args)
}
