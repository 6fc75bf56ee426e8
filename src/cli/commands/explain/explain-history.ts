/** Reads the journal of an object from the dashboard of a running operator, for `kopf explain --history`. */
import type { ObjectView } from '../../../dashboard/protocol.ts'
import { KopfError } from '../../../errors.ts'
import { systemClock } from '../../../util/async/clock.ts'
import { toJsonText } from '../../../util/json/json-text.ts'
import type { AccessArguments } from '../../dashboard/access-options.ts'
import { accessByUrl, accessInCluster, type OperatorAccess } from '../../dashboard/operator-access.ts'
import { DashboardClient } from '../../dashboard-client.ts'
import { outputPalette, print } from '../../terminal.ts'
import { renderHistory } from './history-render.ts'

export interface HistoryArguments extends Omit<AccessArguments, 'namespace'> {
  /** The namespace of the object. */
  readonly namespace?: string
  readonly output?: string
  readonly url?: string
  readonly operatorNamespace?: string
  readonly certificateAuthority?: string
  readonly insecure?: boolean
}

/** The object, as it was named on the command line. */
export interface ExplainedTarget {
  readonly resource: string
  readonly name: string
}

export async function explainHistory(named: ExplainedTarget, args: HistoryArguments): Promise<void> {
  const access: AccessArguments = withNamespace(args)
  await using way: OperatorAccess =
    args.url === undefined
      ? accessInCluster({ args: access, name: undefined })
      : accessByUrl({ ...args, ...access, url: args.url })
  const client = new DashboardClient({ ...way, clock: systemClock })
  const view = await readHistory(client, named, args.namespace)
  const { object, timeline, dropped } = view
  const history = { object, timeline, dropped }
  const palette = outputPalette()
  print(args.output === 'json' ? toJsonText(history) : renderHistory(view, { nowMs: systemClock.now(), palette }))
}

/** The options of the operator's pod: its namespace is not that of the object. */
function withNamespace({ namespace: _, operatorNamespace, ...args }: HistoryArguments): AccessArguments {
  return { ...args, ...(operatorNamespace !== undefined && { namespace: operatorNamespace }) }
}

async function readHistory(
  client: DashboardClient,
  named: ExplainedTarget,
  given: string | undefined,
): Promise<ObjectView> {
  const signal = new AbortController().signal
  const { resources } = await client.view('overview', {}, signal)
  const resource = findResource(named.resource, resources)
  const { name } = named
  const namespace = given ?? (await findNamespace(client, { resource, name }, signal))
  return client.view('object', { resource, name, ...(namespace !== undefined && { namespace }) }, signal)
}

/** The resource by its name, as in kubectl: by its plural, with the group, with the version, or by its kind. */
function findResource(
  text: string,
  resources: readonly { readonly resource: string; readonly kind: string }[],
): string {
  const searched = text.toLowerCase()
  const found = resources.filter(({ resource, kind }) => {
    const [plural, version, ...group] = resource.split('.')
    return [resource, plural, [plural, ...group].join('.'), `${plural}.${version}`, kind.toLowerCase()].includes(
      searched,
    )
  })
  if (found.length === 1) return found[0]!.resource
  const names = (found.length === 0 ? resources : found).map(({ resource }) => resource).join(', ')
  const why = found.length === 0 ? 'the operator serves no such resource' : 'the operator serves several such resources'
  throw new KopfError('KOPF_EXPLAIN', `Cannot show the history of "${text}": ${why}; name one of: ${names || 'none'}`)
}

/** The namespace of the object with this name, if there is only one. */
async function findNamespace(
  client: DashboardClient,
  { resource, name }: ExplainedTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { rows } = await client.view('objects', { resource, text: name, limit: 200 }, signal)
  const found = rows.filter((row) => row.name === name)
  if (found.length <= 1) return found[0]?.namespace
  const names = found.map(({ namespace }) => namespace).join(', ')
  throw new KopfError(
    'KOPF_EXPLAIN',
    `Cannot show the history of "${name}": there are several objects of that name; name one of the namespaces with --namespace: ${names}`,
  )
}
