/** The e-mails this app can send. */

export const EMAIL_TEMPLATES = ['welcome', 'invoice', 'password_reset'] as const;
export type EmailTemplate = (typeof EMAIL_TEMPLATES)[number];

interface Content {
  readonly subject: string;
  readonly text: string;
}

const TEMPLATES: Readonly<Record<EmailTemplate, (userId: string) => Content>> = {
  welcome: (userId) => ({
    subject: 'Welcome',
    text: `Hello,\n\nyour account ${userId} is ready.\n`,
  }),
  invoice: (userId) => ({
    subject: 'Your invoice',
    text: `Hello,\n\nthere is a new invoice in your account ${userId}.\n`,
  }),
  password_reset: (userId) => ({
    subject: 'Reset your password',
    text: `Hello,\n\nsomebody, hopefully you, asked to reset the password of account ${userId}.\n`,
  }),
};

export function render(template: EmailTemplate, userId: string): Content {
  return TEMPLATES[template](userId);
}
