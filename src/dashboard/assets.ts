/** The files of the page of the dashboard. */

export function readAsset(
  _path: string,
): { readonly body: Uint8Array; readonly contentType: string; readonly encoding: 'br' } | undefined {
  return undefined
}
