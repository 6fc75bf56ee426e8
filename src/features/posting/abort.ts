/** Waiting for a signal, and leaving no listener behind. */

/** Resolves when the signal is aborted, or when the work is done. Rejects as the work does. */
export function untilAborted(signal: AbortSignal | undefined, work?: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      resolve()
      return
    }
    const end = (): void => {
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end)
    work?.then(end, (error: unknown) => {
      signal?.removeEventListener('abort', end)
      reject(error)
    })
  })
}
