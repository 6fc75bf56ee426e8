/** Reads the events of one watch for `client.watch`. Does not reconnect; the operator's own watches (watching/) do. */

import { dropNullFields, type JsonObject } from '../kube/objects.ts'
import { getOwn, isPlainObject } from '../util/json/json.ts'
import { tryParseJsonText } from '../util/json/json-text.ts'
import { ApiError, fromStatus } from './api-error.ts'
import type { ClientEvent } from './client-options.ts'
import type { ApiCall, Session } from './session.ts'
import { readWatchLines } from './watch-lines.ts'

const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'])

export async function* readEvents(
  session: Session,
  call: ApiCall,
  outer: AbortSignal | undefined,
): AsyncGenerator<ClientEvent<JsonObject>, void, undefined> {
  const body = await session.stream(call, outer ?? new AbortController().signal)
  for await (const lines of readWatchLines(body)) {
    for (const line of lines) yield toEvent(call, line)
  }
}

function toEvent(call: ApiCall, line: string): ClientEvent<JsonObject> {
  const event = tryParseJsonText(line)
  const object = isPlainObject(event) ? getOwn(event, 'object') : undefined
  const type = isPlainObject(event) ? getOwn(event, 'type') : undefined
  if (type === 'ERROR') throw fromStatus(call, 500, object)
  if (types.has(type) && isPlainObject(object))
    return { type, object: dropNullFields(object) } as unknown as ClientEvent<JsonObject>
  const message = `a line of ${line.length} characters in the watch is no event; expected an object with "type" and "object"`
  throw new ApiError({ method: call.method, path: call.path, status: 200, reason: 'NotAnEvent', message })
}
