/** `kopf explain`: prints what an operator has stored on an object, and why each handler is called or not. Read-only. */
import type { Command } from 'commander'
import { collectionPath } from '../../../client/paths.ts'
import { formatGroupVersion, type KubeObject } from '../../../kube/objects.ts'
import type { Resource } from '../../../kube/resources/resources.ts'
import { selectResources } from '../../../kube/resources/selectors.ts'
import type { Operator } from '../../../operator.ts'
import { internalsOf } from '../../../operator-internals.ts'
import { reconcilerLabel, toReconcilerLabel } from '../../../reconciling/children/labels.ts'
import { systemClock } from '../../../util/async/clock.ts'
import { toJsonText } from '../../../util/json/json-text.ts'
import { describeError } from '../../../util/log/describe-error.ts'
import type { CommandCluster } from '../../cluster.ts'
import { addExamples, choiceOption } from '../../help.ts'
import { addClusterOptions, readObjectName, resourceArgument } from '../../options/cluster.ts'
import { addOperatorOptions, loadOperatorFiles, type OperatorArguments } from '../../options/operator-files.ts'
import { outputPalette, print } from '../../terminal.ts'
import type { HistoryArguments } from './explain-history.ts'
import { renderExplanation } from './explain-render.ts'

interface ExplainArguments extends OperatorArguments, HistoryArguments {
  readonly history?: boolean
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
    .argument('<resource>', resourceArgument)
    .argument('[name]', 'the name of the object, unless it is part of resource/name')
    .optionsGroup('Object:')
    .option('-n, --namespace <name>', 'the namespace of the object (default: the one in the kubeconfig)')
  addOperatorOptions(command)
  addClusterOptions(command)
    .optionsGroup('History:')
    .option(
      '--history',
      'show what has happened to the object, from the journal of a running operator with a dashboard',
    )
    .option('--url <url>', 'the address of its dashboard; without it, the operator is found in the cluster')
    .option('--certificate-authority <file>', 'with --url: the CA that signed the certificate of the operator')
    .option('--insecure', 'with --url: do not verify the certificate; for experiments only')
    .option(
      '--token-file <file>',
      'log in to the operator with the token in this file, or with that on standard input: -',
    )
    .option('--service-account <name>', 'log in to the operator with a new token for this service account')
    .option(
      '--operator-namespace <name>',
      'the namespace in which the operator runs (default: the one in the kubeconfig)',
    )
    .option('--selector <labels>', 'the labels of the pods of the operator')
    .optionsGroup('Options:')
    .addOption(choiceOption('-o, --output <format>', 'the format of the output', ['text', 'json']).default('text'))
  addExamples(command, [
    'npx kopf explain kopfexamples kopf-example-1',
    'npx kopf explain database/orders',
    'npx kopf explain databases.example.com orders -n prod --file operator.ts',
    'npx kopf explain pods web-1 -o json',
    'npx kopf explain database/orders --history',
  ]).action(async (target: string, given: string | undefined) => {
    const { resource, name } = readObjectName(command, target, given)
    const missing = () => command.error('error: nothing to explain. Name an object, as resource/name.')
    const args = command.opts<ExplainArguments>()
    checkUsage(command, args)
    if (!args.history) return explain(resource, name ?? missing(), args)
    const { explainHistory } = await import('./explain-history.ts')
    await explainHistory({ resource, name: name ?? missing() }, args)
  })
}

/** Options about the operator's dashboard that make no sense without it. */
const historyOptions = {
  url: '--url',
  certificateAuthority: '--certificate-authority',
  insecure: '--insecure',
  tokenFile: '--token-file',
  serviceAccount: '--service-account',
  operatorNamespace: '--operator-namespace',
  selector: '--selector',
} as const

function checkUsage(command: Command, args: ExplainArguments): void {
  const names = Object.keys(historyOptions) as (keyof typeof historyOptions)[]
  const misplaced = args.history ? undefined : names.find((name) => args[name] !== undefined)
  if (misplaced !== undefined)
    command.error(`error: option '${historyOptions[misplaced]}' cannot be used without '--history'.`)
}

async function explain(resourceName: string, name: string, args: ExplainArguments): Promise<void> {
  const { CommandCluster } = await import('../../cluster.ts')
  await using loaded = await loadOperatorFiles(args)
  await using cluster = await CommandCluster.open(args)
  const resource = await chooseVersion(loaded.operator, await cluster.find(resourceName), cluster)
  const namespace = args.namespace ?? cluster.namespace
  const body = await cluster.client.get(resource, name, { namespace }).catch(async (error) => {
    throw await cluster.explainError(error, { verb: 'explain', resource, name, namespace, verbs: ['get'] })
  })
  const { children, notes } = await readChildren(cluster, loaded.operator, { resource, owner: body as KubeObject })
  const explained = loaded.operator.explain(resource, body as KubeObject, { children })
  const explanation = { ...explained, notes: [...explained.notes, ...notes] }
  print(args.output === 'json' ? toJsonText(explanation) : renderExplanation(explanation, describe(loaded, args)))
}

/** How many objects of one kind are read. */
const maxChildren = 500

/** Lists the objects of the kinds that the reconcilers of the resource own, by the label of their children: one request per kind. */
async function readChildren(
  cluster: CommandCluster,
  operator: Operator,
  { resource, owner }: { readonly resource: Resource; readonly owner: KubeObject },
): Promise<{ readonly children: readonly KubeObject[]; readonly notes: readonly string[] }> {
  const all = await cluster.resources()
  const { registry, name } = internalsOf(operator)
  const children: KubeObject[] = []
  const notes: string[] = []
  for (const { id, reconciling } of registry.handlersFor(resource).reconcile) {
    for (const selector of reconciling.owns) {
      const [kind] = selectResources(selector, all).selected
      if (kind === undefined) {
        notes.push(`The cluster does not serve ${selector}, which the reconciler "${id}" owns`)
        continue
      }
      const path = collectionPath(kind, owner.metadata.namespace)
      const query = { labelSelector: `${reconcilerLabel}=${toReconcilerLabel(name, id)}`, limit: maxChildren }
      const page = await cluster.session.request({ method: 'GET', path, query }).catch((error) => {
        notes.push(`The children of the kind ${kind.kind} cannot be read: ${describeError(error)}`)
        return {}
      })
      const { items = [], metadata } = page as { items?: KubeObject[]; metadata?: { continue?: string } }
      const { apiVersion, kind: kindName } = typeOf(kind)
      children.push(...items.map((item) => ({ ...item, apiVersion, kind: kindName })))
      if (metadata?.continue)
        notes.push(`There are more than ${maxChildren} ${kind.plural} of the reconciler "${id}": only these were read`)
    }
  }
  return { children, notes }
}

/** The items of a list have no apiVersion and kind. */
function typeOf({ group, version, kind }: Resource): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: formatGroupVersion(group, version), kind }
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
  const palette = outputPalette()
  return { nowMs: systemClock.now(), operator: isNamed ? [...file, ...module].join(', ') : undefined, palette }
}
