/** Small texts that outlive a server, by name: keys, certificates, tokens. Without a data directory, nothing outlives it. */
export interface Keepsakes {
  recall(name: string): string | undefined
  /** Kept for good when it returns. Names are of lower-case letters, digits and hyphens. */
  remember(name: string, text: string): void
}

export const noKeepsakes: Keepsakes = { recall: () => undefined, remember: () => {} }
