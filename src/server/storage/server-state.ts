/** Small named texts that survive a restart of the server: keys, certificates, tokens. Without a data directory nothing is stored. */
export interface ServerState {
  get(name: string): string | undefined
  /** The text is durable when this returns. Names consist of lower-case letters, digits and hyphens. */
  put(name: string, text: string): void
}

export const noServerState: ServerState = { get: () => undefined, put: () => {} }
