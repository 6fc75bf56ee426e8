/** What `kopf top` shows: views of the dashboard of one moment. `kopf top -o json` prints it. */
import type { ObjectState, ViewName, Views } from '../../dashboard/protocol.ts'
import { KopfError } from '../../errors.ts'
import { isPlainObject } from '../../util/json/json.ts'
import type { TopView } from './top-view.ts'

export type TopSnapshot = Pick<Views, 'overview' | 'problems' | 'handlers' | 'requests' | 'objects'>

export type TopQuery = Readonly<Record<string, string | number>>

/** Reads one view of the dashboard: over HTTP. */
export type ReadView = <N extends ViewName>(name: N, query: TopQuery, signal: AbortSignal) => Promise<Views[N]>

/** The states of objects that need attention. */
export const failingStates: readonly ObjectState[] = ['failed', 'retrying']
/** The most rows that the dashboard sends at once. */
const maxObjects = 200

/** The query of the objects that a view of the terminal shows. */
export function toObjectsQuery({ filter, showsAll, tables }: TopView): TopQuery {
  const { sort, isReversed, offset } = tables.objects
  return {
    ...(showsAll ? {} : { state: failingStates.join(',') }),
    ...(filter === '' ? {} : { text: filter }),
    sort,
    order: isReversed === (sort === 'name' || sort === 'state') ? 'desc' : 'asc',
    // Rows before the first one that is shown, so that scrolling up does not wait for an answer.
    offset: Math.max(0, offset - maxObjects / 4),
    limit: maxObjects,
  }
}

export async function readSnapshot(read: ReadView, view: TopView, signal: AbortSignal): Promise<TopSnapshot> {
  const [overview, problems, handlers, requests, objects] = await Promise.all([
    read('overview', {}, signal),
    read('problems', {}, signal),
    read('handlers', {}, signal),
    read('requests', {}, signal),
    read('objects', toObjectsQuery(view), signal),
  ])
  const snapshot: TopSnapshot = { overview, problems, handlers, requests, objects }
  if (!isSnapshot(snapshot)) throw new KopfError('KOPF_DASHBOARD_UNREACHABLE', notADashboard)
  return snapshot
}

const notADashboard =
  'Cannot show the operator: its answers are not those of the dashboard of this version; check the address, and use the version of kopf that the operator uses'

/** The fields that are read without a check later. An operator of another version may answer something else. */
function isSnapshot({ overview, problems, handlers, requests, objects }: TopSnapshot): boolean {
  const records = [overview, problems, handlers, requests, objects, overview?.operator, overview?.queue]
  const lists = [
    overview?.resources,
    overview?.history,
    problems?.problems,
    handlers?.handlers,
    requests?.rows,
    objects?.rows,
  ]
  return (
    [...records, overview?.eventLoop, overview?.memory].every(isPlainObject) &&
    lists.every((list) => Array.isArray(list) && list.every(isPlainObject))
  )
}
