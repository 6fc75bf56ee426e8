/** GET with `watch`: a streaming response, one line per event. */
import type { ApiResponse, ResourceCall } from '../call.ts'
import { type ListOptions, parseListOptions } from '../options.ts'
import { watchEncoder } from '../representation.ts'
import { type ObjectSelection, selectionOf } from '../selection.ts'
import { expired, StatusError } from '../status.ts'
import type { Stored } from '../storage/stored.ts'
import { errorLine, type WatchPlan } from '../watch-stream.ts'
import { checkedVersion, tooLargeVersion } from './list.ts'

/**
 * Without a timeout from the client, a watch lasts a random time between half an hour and an hour, so that watches do not all end
 * together.
 */
const minTimeoutMs = 1800_000

export function watch(call: ResourceCall): ApiResponse {
  const options = parseListOptions(call.query, true)
  const selection = selectionOf(call)
  const encoder = watchEncoder(call)
  const headers = { 'content-type': encoder.contentType }
  const requested = checkedVersion(options.resourceVersion)
  try {
    const beginning = begin(call, options, { requested, selection })
    const plan: WatchPlan = {
      ...beginning,
      ...encoder,
      timeoutMs: timeoutOf(options),
      prepare: preparing(call, selection),
    }
    if (!options.allowWatchBookmarks) plan.bookmark = undefined
    return { status: 200, headers, body: call.watches.open(call.resource.collection, plan, call.signal) }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    // After the request has been validated, a watch fails with an ERROR event, not with a status.
    return { status: 200, headers, body: errorEvent(error) }
  }
}

async function* errorEvent(error: StatusError): AsyncGenerator<Uint8Array, void, undefined> {
  yield errorLine(error)
}

/** With a conversion webhook: converts the states that are needed to match and encode changes. */
function preparing({ resource }: ResourceCall, { concerns, readsContents }: ObjectSelection): WatchPlan['prepare'] {
  const { converter } = resource
  if (converter === undefined) return undefined
  return (changes) => {
    const shown = changes.map(({ current }) => current)
    const judged = readsContents ? changes.flatMap(({ previous }) => previous ?? []) : []
    return converter.prepare([...shown, ...judged].filter(concerns))
  }
}

function timeoutOf({ timeoutSeconds }: ListOptions): number {
  return timeoutSeconds ? timeoutSeconds * 1000 : minTimeoutMs * (1 + Math.random())
}

type Beginning = Pick<WatchPlan, 'initial' | 'missed' | 'marksInitialEnd' | 'matches'>

/** The start of a watch: the existing objects, or the changes since a version. */
function begin(
  call: ResourceCall,
  options: ListOptions,
  from: { requested: number; selection: ObjectSelection },
): Beginning {
  const { requested, selection } = from
  const { matches } = selection
  const collection = call.store.collection(call.resource.collection)
  const { sendInitialEvents, allowWatchBookmarks } = options
  if (sendInitialEvents && requested > call.store.version) throw tooLargeVersion(requested, call.store.version)
  const marksInitialEnd = sendInitialEvents === true && allowWatchBookmarks
  if (sendInitialEvents ?? requested === 0) {
    return { initial: collection.list(selection.namespace), missed: [], marksInitialEnd, matches }
  }
  if (requested === 0) return { initial: [], missed: [], marksInitialEnd, matches }
  const missed = collection.history.since(requested)
  if (missed === undefined) {
    throw expired(`too old resource version: ${requested} (${collection.history.floor})`)
  }
  // A future version: all changes up to it are skipped.
  const matchesLater = (stored: Stored) => stored.version > requested && matches(stored)
  return { initial: [], missed, marksInitialEnd, matches: requested > call.store.version ? matchesLater : matches }
}
