/** `kopf explain`: prints what an operator has stored on an object, and why each handler is called or not. Read-only. */
import type { Command } from 'commander'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import type { Operator } from '../../operator.ts'
import { internalsOf } from '../../operator-internals.ts'
import { systemClock } from '../../util/async/clock.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import type { CommandCluster } from '../cluster.ts'
import { addExamples, choiceOption } from '../help.ts'
import { addClusterOptions, type ClusterArguments } from '../options/cluster.ts'
import { addOperatorOptions, loadOperatorFiles, type OperatorArguments } from '../options/operator-files.ts'
import { print } from '../terminal.ts'
import { renderExplanation } from './explain-render.ts'

interface ExplainArguments extends OperatorArguments, ClusterArguments {
  readonly namespace?: string
  readonly output?: string
}

export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain')
    .summary('show what is stored on an object, and why handlers are called or not')
    .description(
      'Shows what an operator has stored on an object: its finalizer, the progress of its handlers, the state that was ' +
        'handled last, and the changes since. With the file of the operator, it also shows for each handler whether it would ' +
        'be called now, and why not. It does not change the object and does not start the operator.',
    )
    .argument('<resource>', 'a plural, singular, kind or short name, such as kopfexamples or kopfexamples.kopf.dev')
    .argument('<name>', 'the name of the object')
    .optionsGroup('Object:')
    .option('-n, --namespace <name>', 'the namespace of the object (default: the one in the kubeconfig)')
  addOperatorOptions(command)
  addClusterOptions(command)
    .optionsGroup('Options:')
    .addOption(choiceOption('-o, --output <format>', 'the format of the output', ['text', 'json']).default('text'))
  addExamples(command, [
    'kopf explain kopfexamples kopf-example-1',
    'kopf explain databases.example.com orders -n production --file operator.ts',
    'kopf explain pods web-1 -o json',
  ]).action(async (resource: string, name: string) => explain(resource, name, command.opts<ExplainArguments>()))
}

async function explain(resourceName: string, name: string, args: ExplainArguments): Promise<void> {
  const { CommandCluster, toCommandError } = await import('../cluster.ts')
  await using loaded = await loadOperatorFiles(args)
  await using cluster = await CommandCluster.open(args)
  const resource = await chooseVersion(loaded.operator, await cluster.find(resourceName), cluster)
  const namespace = args.namespace ?? cluster.namespace
  const body = await cluster.client.get(resource, name, { namespace }).catch((error) => {
    throw toCommandError(error, { verb: 'explain', resource, name, namespace, verbs: ['get'] })
  })
  const explanation = loaded.operator.explain(resource, body as KubeObject)
  print(args.output === 'json' ? toJsonText(explanation) : renderExplanation(explanation, describe(loaded, args)))
}

/** Prefers a version with handlers over the preferred version of the cluster. */
async function chooseVersion(operator: Operator, found: Resource, cluster: CommandCluster): Promise<Resource> {
  const { registry } = internalsOf(operator)
  const all = await cluster.resources()
  const versions = all.filter(({ group, plural }) => group === found.group && plural === found.plural)
  const isHandled = (one: Resource) => registry.handlers.some(({ selector }) => selector?.matches(one))
  return isHandled(found) ? found : (versions.find(isHandled) ?? found)
}

function describe({ isNamed }: { readonly isNamed: boolean }, { file = [], module = [] }: ExplainArguments) {
  return { nowMs: systemClock.now(), operator: isNamed ? [...file, ...module].join(', ') : undefined }
}
