/** What is wrong with a file that people have named, in words for them. */

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'there is no such folder',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not do that',
  EPERM: 'this user may not do that',
  EROFS: 'nothing can be written there',
  ENOSPC: 'there is no room left',
}

export function explainFileProblem(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return problems[code] ?? message
}
