/** Opens the data directory of a server, and loads CEL if its objects contain expressions. An ApiServer is created from the result. */
import type { ApiServerOptions } from './api-server.ts'
import { loadCelFor } from './cel/lazy.ts'
import { type Data, openData } from './storage/data.ts'
import { toLimits } from './storage/history.ts'

export async function openDataDir(
  path: string,
  { history, clock }: Pick<ApiServerOptions, 'history' | 'clock'>,
): Promise<Data> {
  const data = await openData(path, toLimits(history), clock)
  try {
    await loadCelFor(data.store)
    return data
  } catch (error) {
    await data.close()
    throw error
  }
}
