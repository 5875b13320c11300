/** The ACL rules as docs/security.md has them. */
import { codeBlocks, readDocument } from '../docs/markdown.js';

export interface AclUser {
  readonly name: string;
  readonly password: string;
  /** Everything behind the name. */
  readonly rules: readonly string[];
}

/** Lines of an ACL file: `user <name> <rules>`. */
export function documentedUsers(): AclUser[] {
  const lines = codeBlocks(readDocument('docs/security.md'), 'text')
    .flatMap((block) => block.split('\n'))
    .filter((line) => line.startsWith('user '));
  return lines.map((line) => {
    const [, name = '', ...rules] = line.split(' ');
    const password = rules.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
    return { name, password, rules };
  });
}

export function documentedUser(name: string): AclUser {
  const user = documentedUsers().find((one) => one.name === name);
  if (!user) throw new Error(`docs/security.md has no user ${name}`);
  return user;
}

/** A file for `aclfile`, as an operator makes it: the documented users, and the default user, who may do everything. */
export function aclFile(): string {
  const lines = documentedUsers().map(({ name, rules }) => ['user', name, ...rules].join(' '));
  return [...lines, 'user default on nopass ~* &* +@all', ''].join('\n');
}
