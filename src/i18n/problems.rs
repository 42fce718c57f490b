//! What the shop says about each stable error code, and about each mistake in a form.

use crate::domain::Locale;

/// The words for one error code.
#[derive(Debug)]
pub struct Problem {
    pub code: &'static str,
    zh: [&'static str; 2],
    en: [&'static str; 2],
}

impl Problem {
    const fn new(code: &'static str, zh: [&'static str; 2], en: [&'static str; 2]) -> Problem {
        Problem { code, zh, en }
    }

    fn words(&self, locale: Locale) -> [&'static str; 2] {
        match locale {
            Locale::Zh => self.zh,
            Locale::En => self.en,
        }
    }

    /// A headline of a few words.
    pub fn title(&self, locale: Locale) -> &'static str {
        self.words(locale)[0]
    }

    /// One sentence: the plain truth, and what can be done.
    pub fn text(&self, locale: Locale) -> &'static str {
        self.words(locale)[1]
    }
}

/// For codes that have no words of their own.
static UNKNOWN: Problem = Problem::new(
    "internal",
    ["出了点问题", "我们这边出错了，请稍后再试。"],
    ["Something went wrong", "The fault is on our side. Please try again in a moment."],
);

#[rustfmt::skip]
static PROBLEMS: &[Problem] = &[
    Problem::new("not_signed_in", ["请先登录", "登录后才能继续。"],
        ["Please log in", "You need to be logged in for this."]),
    Problem::new("bad_token", ["请重新抢购", "抢购凭证已过期，请再点一次按钮。"],
        ["Please press again", "Your ticket for this sale has expired. Please press the button again."]),
    Problem::new("no_such_sale", ["没有这一场", "该秒杀不存在或已下架。"],
        ["No such sale", "This sale does not exist or was taken down."]),
    Problem::new("not_open", ["尚未开始", "秒杀还没开始，请留意开始时间。"],
        ["Not open yet", "The sale has not started. Please mind the opening time."]),
    Problem::new("sold_out", ["已售罄", "商品已全部被抢购。未付款的订单会退回库存，可稍后再来看看。"],
        ["Sold out", "All pieces are taken. Unpaid orders go back on sale, so it may be worth looking again later."]),
    Problem::new("ended", ["已结束", "本场秒杀已结束。"],
        ["The sale is over", "This sale has ended. Nothing more is sold in it."]),
    Problem::new("paused", ["已暂停", "本场秒杀已暂停，请稍后再来。"],
        ["Paused", "The shop has paused this sale. Please come back in a moment."]),
    Problem::new("no_such_packet", ["没有这个红包", "该红包不存在，请检查链接。"],
        ["No such red packet", "There is no such red packet. Please check the link."]),
    Problem::new("packet_not_open", ["红包还未开抢", "请到开抢时间再来。"],
        ["Not open yet", "This red packet opens later. Please come back then."]),
    Problem::new("packet_empty", ["手慢了", "红包已被抢光。"],
        ["All gone", "All shares of this red packet are claimed."]),
    Problem::new("packet_expired", ["红包已过期", "红包已过期，未领取的金额已退回。"],
        ["Its time is over", "This red packet has expired. What was left went back to its giver."]),
    Problem::new("own_packet", ["这是你自己的红包", "你选择了不参与这个红包。"],
        ["Your own red packet", "You chose to keep out of this one."]),
    Problem::new("bad_quantity", ["数量不对", "请选择有效的购买数量。"],
        ["Wrong quantity", "Please choose a valid number of pieces."]),
    Problem::new("over_limit", ["超过限购", "购买数量超过每人限购数。"],
        ["Over the limit", "That is more than one person may buy in this sale."]),
    Problem::new("rate_limited", ["操作太频繁", "请稍等几秒再试。"],
        ["Too many requests", "Please wait a few seconds and try again."]),
    Problem::new("busy", ["抢购火爆", "排队人数较多，可能还有库存，请再试一次。"],
        ["Very busy", "Many people are ahead of you. There may be pieces left: please try again."]),
    Problem::new("overloaded", ["系统繁忙", "商店暂时忙不过来，请稍后再试。"],
        ["The shop is overloaded", "We cannot keep up at this moment. Please try again shortly."]),
    Problem::new("bad_credentials", ["登录失败", "用户名或密码不正确。"],
        ["Login failed", "The user name or the password is not right."]),
    Problem::new("totp_required", ["请输入验证码", "密码正确，请再输入身份验证器上的验证码。"],
        ["One more step", "The password is right. Please enter a code of your authenticator."]),
    Problem::new("bad_code", ["验证码无效", "验证码不正确、已过期或已使用过，请输入新的验证码。"],
        ["Code not accepted", "The code is wrong, too old, or was used before. Please enter a new one."]),
    Problem::new("blocked", ["账号已被停用", "商店停用了此账号。已有订单不受影响，如有疑问请联系客服。"],
        ["Account blocked", "The shop has blocked this account. Orders stay as they are; please ask our support."]),
    Problem::new("must_change_password", ["请先修改密码", "请先到“我的账号”页面设置自己的密码，再使用管理功能。"],
        ["Choose your own password", "Please choose a password of your own on your account page first."]),
    Problem::new("orders_open", ["还有未完成的订单", "请先付款或取消待付款订单，或等待退款完成，再删除账号。"],
        ["An order is not finished", "Pay or cancel what is unpaid, or wait for your refund; then delete the account."]),
    Problem::new("staff_account", ["员工账号不能删除", "请先由店主撤销员工身份，再删除账号。"],
        ["A staff account", "An owner of the shop has to dismiss you from the staff before the account can be deleted."]),
    Problem::new("last_owner", ["这是最后一位店主", "商店至少要有一位可用的店主，请先任命另一位。"],
        ["The last owner", "The shop needs somebody who can appoint staff. Please appoint another owner first."]),
    Problem::new("yourself", ["不能对自己操作", "请由另一位员工来做。"],
        ["Not to yourself", "Somebody else has to do this."]),
    Problem::new("username_taken", ["用户名已被占用", "该用户名已被占用，请换一个。"],
        ["User name taken", "Somebody else has this user name. Please choose another."]),
    Problem::new("bad_username", ["用户名无效", "用户名须为 3 到 32 个字母、数字或 _ - . 字符。"],
        ["User name not possible", "A user name has 3 to 32 letters, digits, dots, hyphens or underscores."]),
    Problem::new("weak_password", ["密码太弱", "密码须为 8 到 256 个字符。"],
        ["Password too weak", "A password has 8 to 256 characters."]),
    Problem::new("not_cancellable", ["无法取消", "订单当前状态不能取消。"],
        ["Cannot be cancelled", "The order is past the point where it can be cancelled."]),
    Problem::new("not_refundable", ["无法退款", "只有已付款的订单可以退款。"],
        ["Cannot be refunded", "Only an order that is paid can be refunded."]),
    Problem::new("address_fixed", ["地址不能更改", "只有待付款的订单可以更改收货地址。"],
        ["The address stays", "The address can be changed only while the order waits to be paid."]),
    Problem::new("too_many_addresses", ["地址太多", "最多可以保存 20 个地址，请先删除一个。"],
        ["Too many addresses", "You can keep 20 addresses. Please delete one first."]),
    Problem::new("not_payable", ["无法付款", "订单已付款、已取消或已超时。"],
        ["Cannot be paid", "The order is paid already, was cancelled, or its time is over."]),
    Problem::new("not_enough", ["余额不足", "钱包余额不够，请先充值。"],
        ["Not enough in the wallet", "Your wallet does not hold so much. Please top it up first."]),
    Problem::new("wallet_not_empty", ["钱包里还有钱", "请先花完余额，或确认放弃余额。"],
        ["There is money in your wallet", "Spend it first, or say that you give it up."]),
    Problem::new("not_allowed", ["没有权限", "你的角色不能进行此操作，请联系店主。"],
        ["Not allowed", "Your role does not allow this. Ask the shop's owner."]),
    Problem::new("not_found", ["页面不存在", "没有找到你要的内容。"],
        ["Not found", "There is nothing at this address."]),
    Problem::new("cross_site", ["请求被拒绝", "请求来自其他网站，为了你的安全已拒绝。"],
        ["Refused", "The request came from another site and was refused to protect you."]),
    Problem::new("too_large", ["内容太大", "提交的内容超过了大小限制。"],
        ["Too large", "What was sent is larger than the shop accepts."]),
    Problem::new("wrong_state", ["状态已改变", "当前状态不允许此操作，请刷新后再试。"],
        ["State has changed", "The present state does not allow this. Please reload and look again."]),
    Problem::new("overlap", ["时间冲突", "同一商品在该时间段已有其他场次。"],
        ["Overlap", "The same product is on sale at that time in another sale."]),
    Problem::new("changed_meanwhile", ["已被他人修改", "有人刚刚修改了本场次。你填写的内容仍在下方，请核对后再保存。"],
        ["Changed meanwhile", "Somebody else changed this sale meanwhile. What you typed is below: look again, then save."]),
    Problem::new("has_begun", ["已经开始", "本场次已经开始，只能加库存、暂停或终止。"],
        ["It has begun", "This sale has begun. It can only be topped up, paused or stopped."]),
    Problem::new("in_past", ["时间已过", "开始时间已过，请先修改时间。"],
        ["Time has passed", "The opening time has passed. Change the window first."]),
    Problem::new("goods_archived", ["商品已归档", "该商品已归档，请先恢复再开售。"],
        ["The product is archived", "Bring the product back before you sell it."]),
    Problem::new("goods_on_sale", ["商品在售", "该商品有进行中或已排期的场次，请先终止场次再归档。"],
        ["The product is on sale", "A sale of it is running or scheduled. Stop that sale first, then archive the product."]),
    Problem::new("bad_request", ["请求无效", "提交的内容无法识别，请返回后再试。"],
        ["Not understood", "The shop could not read what was sent. Please go back and try again."]),
    Problem::new("bad_json", ["请求无效", "提交的内容无法识别，请刷新页面后再试。"],
        ["Not understood", "The shop could not read what was sent. Please reload the page and try again."]),
    Problem::new("invalid", ["内容有误", "部分内容无效，请检查后再提交。"],
        ["Please check", "Some of the values cannot be used. Please check them."]),
    Problem::new("bad_signature", ["签名无效", "通知的签名无效。"],
        ["Bad signature", "The signature of the notice is not valid."]),
    Problem::new("method_not_allowed", ["无法直接打开", "这个地址只能通过页面上的按钮访问。"],
        ["Not a page", "This address only works through a button of the shop."]),
    Problem::new("request_timeout", ["请求超时", "内容没有及时送达，请再试一次。"],
        ["Too slow", "What was sent did not arrive in time. Please try again."]),
    Problem::new("unsupported_media_type", ["格式不支持", "提交的内容格式不受支持。"],
        ["Format not accepted", "What was sent is not of a kind that the shop takes."]),
    Problem::new("unavailable", ["服务暂不可用", "商店的某项服务暂时不可用，你的订单不会丢失，请稍后再试。"],
        ["Not available just now", "Something the shop needs is down. Nothing is lost: please try again shortly."]),
    Problem::new("not_confirmed", ["未确认", "请勾选确认后再提交。"],
        ["Not confirmed", "Please confirm the action before sending it."]),
];

#[rustfmt::skip]
static FIELD_ERRORS: &[(&str, &str, &str)] = &[
    ("wrong_password", "密码不正确。", "This is not your password."),
    ("weak_password", "密码须为 8 到 256 个字符。", "A password has 8 to 256 characters."),
    ("not_your_name", "与你的用户名不一致。", "This is not your user name."),
    ("bad_code", "验证码不正确、已过期或已使用过。", "The code is wrong, too old, or was used before."),
    ("wait", "尝试次数过多，请稍后再试。", "Too many wrong guesses. Please wait a little."),
    ("no_such_user", "没有这个用户。", "There is no such user."),
    ("username_taken", "该用户名已被占用。", "Somebody has this user name."),
    ("bad_username", "用户名须为 3 到 32 个字母、数字或 _ - . 字符。", "A user name has 3 to 32 letters, digits, or characters of _-."),
    ("bad_role", "请选择角色。", "Please choose a role."),
    ("confirm", "请勾选确认。", "Please tick to confirm."),
    ("required", "必填。", "This is needed."),
    ("too_long", "内容太长。", "This is too long."),
    ("bad_number", "请填写大于零的整数。", "Please give a whole number above zero."),
    ("split_fixed", "场次已载入 Redis，分桶数不能再改。", "The sale is loaded in Redis already: its buckets stay as many as they are."),
    ("bad_buckets", "分桶数须为 1 到 64。", "A sale has 1 to 64 buckets."),
    ("bad_lot", "请填写不小于零的整数。", "Please give a whole number, zero or more."),
    ("bad_spread", "请填写 0 到 60000 的整数。", "Please give a whole number from 0 to 60000."),
    ("bad_price", "请填写有效金额，例如 1999.00。", "Please give an amount such as 1999.00."),
    ("bad_amount", "请填写可行的金额。", "Please give an amount that works out."),
    ("bad_text", "含有不支持的字符。", "There are characters in it that cannot be used."),
    ("too_far", "最晚为 30 天之内。", "This is more than 30 days away."),
    ("bad_time", "请填写有效的日期和时间。", "Please give a valid date and time."),
    ("window_order", "结束时间必须晚于开始时间。", "The sale must close after it opens."),
    ("in_past", "该时间已过。", "This time has passed."),
    ("too_short", "场次至少要持续一分钟。", "A sale must last at least a minute."),
    ("not_lower", "秒杀价不低于原价。请修改，或在下方确认。",
        "The sale price is not below the list price. Change it, or confirm it below."),
    ("overlap", "同一商品在该时间段已有其他场次。", "The same product is on sale at that time in another sale."),
    ("no_such_goods", "请选择在售商品。", "Choose a product of the catalogue."),
    ("bad_picture", "不是可用的图片。只接受 PNG、JPEG 或 WebP（不接受 SVG、GIF）。", "Not a picture that can be used. Send PNG, JPEG or WebP (no SVG, no GIF)."),
    ("picture_empty", "文件是空的。", "The file is empty."),
    ("picture_too_large", "文件超过 5 MB，请压缩后再传。", "The file is larger than 5 MB. Make it smaller and send it again."),
    ("picture_too_many_pixels", "图片尺寸太大：最多 3200 万像素，单边不超过 10000。", "The picture is too large: at most 32 million pixels, and 10,000 along a side."),
    ("picture_broken", "图片损坏或不完整，请重新导出后再传。", "The picture is damaged or incomplete. Save it again and send it once more."),
    ("too_many_pictures", "图片太多：每件商品最多 12 张。", "Too many pictures: a product has at most 12."),
    ("no_such_picture", "有图片已过期，请重新上传。", "A picture is no longer there. Upload it again."),
    ("other_pictures", "须列出全部现有图片，每张一次。", "Name every present picture once."),
    ("goods_archived", "该商品已归档，请先恢复。", "The product is archived. Bring it back first."),
    ("bad_phone", "请填写有效的电话号码，6 到 15 位数字。", "Please give a phone number of 6 to 15 digits."),
    ("bad_postal_code", "邮政编码与所选国家或地区不符。", "This is not a postal code of the chosen country."),
    ("bad_country", "请选择列表中的国家或地区。", "Please choose a country or region of the list."),
    ("bad_id", "编号格式不对，请完整复制。", "This is not a complete number. Please copy all of it."),
    ("bad_status", "没有这种状态。", "There is no such status."),
    ("time_order", "结束时间必须晚于开始时间。", "The end must come after the beginning."),
    ("no_such_user", "没有这个用户。", "There is no such shopper."),
    ("top_up_bounds", "一次可以充值 1 到 50,000 元。", "One top-up is from ¥1 to ¥50,000."),
    ("bad_limit", "限购数不能超过总量。", "The limit cannot be more than the total."),
];

/// The words for a code; a general apology for one that is not in the table.
pub fn problem(code: &str) -> &'static Problem {
    PROBLEMS.iter().find(|p| p.code == code).unwrap_or(&UNKNOWN)
}

/// What a purchase can be refused for, for handing it to the script.
pub fn refusals() -> impl Iterator<Item = &'static Problem> {
    const CODES: [&str; 13] = [
        "bad_token",
        "no_such_sale",
        "not_open",
        "sold_out",
        "ended",
        "paused",
        "bad_quantity",
        "over_limit",
        "rate_limited",
        "busy",
        "overloaded",
        "cross_site",
        "internal",
    ];
    CODES.into_iter().map(problem)
}

/// The words for a mistake in one field of a form; the code itself when there are none.
pub fn field_error(locale: Locale, code: &'static str) -> &'static str {
    match (FIELD_ERRORS.iter().find(|e| e.0 == code), locale) {
        (Some((_, zh, _)), Locale::Zh) => zh,
        (Some((_, _, en)), Locale::En) => en,
        (None, _) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_have_words() {
        let mut codes: Vec<_> = PROBLEMS.iter().map(|p| p.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), PROBLEMS.len());
        assert_eq!(refusals().filter(|p| p.code == "internal").count(), 1, "each refusal has words");
        for locale in Locale::ALL {
            for p in PROBLEMS {
                assert!(!p.title(locale).is_empty() && !p.text(locale).is_empty(), "{}", p.code);
            }
        }
        assert_eq!(problem("never heard of").code, "internal");
    }

    #[test]
    fn a_field_error_speaks_both_languages() {
        for (code, ..) in FIELD_ERRORS {
            assert_ne!(field_error(Locale::Zh, code), field_error(Locale::En, code));
        }
        assert_eq!(field_error(Locale::En, "novel"), "novel");
    }
}
