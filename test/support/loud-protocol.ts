/** What the loud process is told, and the words that it must keep to itself. */

export const LOUD_VARIABLE = 'FENCELINE_TEST_LOUD';

export interface LoudOptions {
  readonly url: string;
  readonly logging: 'text' | 'object';
}

export const SECRETS = {
  payload: 'payload-hunter2',
  result: 'result-hunter2',
  checkpoint: 'checkpoint-hunter2',
  password: 'password-hunter2',
} as const;
