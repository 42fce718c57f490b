//! Texts of invalid form fields.

use domain::Locale;

#[rustfmt::skip]
static FIELD_ERRORS: &[(&str, &str, &str)] = &[
    ("bad_endpoint", "浏览器的推送地址或密钥无效。", "The push address or key of the browser is not valid."),
    ("bad_mail_address", "请输入有效的邮箱地址。", "Please enter a valid email address."),
    ("wrong_password", "密码不正确。", "Incorrect password."),
    ("weak_password", "密码须为 12 到 256 个字符，且不能是常见密码、用户名、简单的重复或连续字符。", "A password has 12 to 256 characters, and isn’t a common password, your username, a repetition or a sequence."),
    ("not_your_name", "与你的用户名不一致。", "This doesn’t match your username."),
    ("passkey_needed", "店主要求员工使用两步验证，请使用通行密钥。", "The shop requires more than a password. Please use your passkey."),
    ("bad_code", "验证码不正确、已过期或已使用过。", "The code is wrong, expired or already used."),
    ("wait", "尝试次数过多，请稍后再试。", "Too many attempts. Please wait a moment."),
    ("username_taken", "该用户名已被占用。", "This username is already taken."),
    ("bad_username", "用户名须为 3 到 32 个字母、数字或 _ - . 字符，字母须属于同一种文字。", "A username has 3 to 32 letters of one alphabet, digits, dots, hyphens or underscores."),
    ("bad_role", "请选择角色。", "Please choose a role."),
    ("confirm", "请勾选确认。", "Please tick the box to confirm."),
    ("after_opening", "不能晚于开抢时间。", "This must not be after the start."),
    ("bad_invitation", "请输入完整的邀请码。", "Please enter the whole code."),
    ("too_many_invitations", "每场最多 10 万个邀请码。", "A sale has at most 100,000 codes."),
    ("bad_count", "数量不符。", "This isn’t the number of items."),
    ("required", "必填。", "Required."),
    ("too_long", "内容太长。", "Too long."),
    ("question_too_short", "请至少写 5 个字。", "Please write at least 5 characters."),
    ("question_too_long", "最多 300 字。", "Please keep it to 300 characters."),
    ("answer_too_long", "最多 1000 字。", "Please keep it to 1,000 characters."),
    ("bad_boolean", "请填写 true 或 false。", "Enter true or false."),
    ("bad_number", "请填写大于零的整数。", "Enter a whole number above zero."),
    ("split_fixed", "场次已载入 Redis，分桶数不能再改。", "The sale is already loaded into Redis, so its buckets can’t be changed."),
    ("bad_buckets", "分桶数须为 1 到 64。", "Enter a number from 1 to 64."),
    ("bad_lot", "请填写不小于零的整数。", "Enter a whole number, zero or more."),
    ("bad_spread", "请填写 0 到 600000 的整数。", "Enter a whole number from 0 to 600000."),
    ("spread_beyond_end", "打散时间比整场秒杀还长，有些账号将无法购买。", "The spread is longer than the sale: some accounts could never buy."),
    ("queue_opening", "排队场次须设开始时间。", "A sale with a waiting room needs a start time."),
    ("bad_queue_prequeue", "提前排队时间须为 0 到 86400 秒。", "Enter 0 to 86400 seconds."),
    ("bad_queue_gather", "集合时间须为 0 到 600 秒。", "Enter 0 to 600 seconds."),
    ("bad_queue_seat", "购买时限须为 10 到 3600 秒。", "Enter 10 to 3600 seconds."),
    ("mode_has_places", "已有人在候场区取得位置，发售方式不能再改。请结束本场，另建一场。", "People already have places in the waiting room, so the way of selling can’t be changed. End this sale and create another one."),
    ("draw_one_each", "抽签场次每人限购 1 件。", "In a draw each person can buy one."),
    ("draw_window", "抽签场次须设开始和结束时间。", "A draw needs a start and an end time."),
    ("bad_deposit", "请填写 1 到 10000 元；仅限人民币标价的活动。", "Enter ¥1 to ¥10,000. Only sales priced in CNY can have one."),
    ("bad_draw_window", "付款时限须为 60 到 2592000 秒。", "Enter 60 to 2592000 seconds."),
    ("bad_draw_review", "审核时间须为 0 到 604800 秒。", "Enter 0 to 604800 seconds."),
    ("wrong_round", "这不是所等待的随机数。", "This is not the awaited round."),
    ("bad_price", "请填写有效金额，例如 1999 或 19.90。", "Enter an amount such as 1999 or 19.90."),
    ("bad_amount", "请填写有效的金额。", "Enter a valid amount."),
    ("bad_text", "含有不支持的字符。", "Contains unsupported characters."),
    ("too_far", "最晚为 30 天之内。", "Choose a time within the next 30 days."),
    ("bad_time", "请填写有效的日期和时间。", "Enter a valid date and time."),
    ("window_order", "结束时间必须晚于开始时间。", "The sale must end after it starts."),
    ("in_past", "该时间已过。", "This time has passed."),
    ("too_short", "场次至少要持续一分钟。", "A sale must last at least one minute."),
    ("not_lower", "秒杀价不低于原价。请修改，或在下方确认。", "The sale price is not below the list price. Change it, or confirm it below."),
    ("overlap", "同一商品在该时间段已有其他场次。", "The same product is already on sale at that time."),
    ("no_such_goods", "请选择在售商品。", "Choose a product from the list."),
    ("no_such_category", "该分类已被删除，请重新选择。", "This category no longer exists. Choose another one."),
    ("variant_of_variant", "请选择另一件商品，且它本身不是别的商品的款式。", "Choose another product that isn’t itself a variant."),
    ("has_variants", "这件商品已有其他款式，不能再成为别的商品的款式。", "This product has variants, so it can’t be a variant of another one."),
    ("other_categories", "须列出全部分类，每个一次。", "List every category exactly once."),
    ("name_taken", "已有同名分类。", "Another category has this name."),
    ("bad_picture", "图片无法使用，只支持 PNG、JPEG 或 WebP（不支持 SVG、GIF）。",
        "This picture can’t be used. Upload PNG, JPEG or WebP (no SVG or GIF)."),
    ("picture_empty", "文件是空的。", "The file is empty."),
    ("picture_too_large", "文件超过 5 MB，请压缩后再传。", "The file is larger than 5 MB. Make it smaller and upload it again."),
    ("picture_too_many_pixels", "图片尺寸太大：最多 3200 万像素，单边不超过 10000。",
        "The picture is too large: at most 32 million pixels, and 10,000 along a side."),
    ("picture_broken", "图片损坏或不完整，请重新导出后再传。", "The picture is damaged or incomplete. Export it again and upload it once more."),
    ("too_many_pictures", "图片太多：每件商品最多 12 张。", "Too many pictures: a product can have at most 12."),
    ("no_such_picture", "有图片已过期，请重新上传。", "A picture is no longer available. Please upload it again."),
    ("other_pictures", "须列出全部现有图片，每张一次。", "List every current picture exactly once."),
    ("goods_archived", "该商品已归档，请先恢复。", "The product is archived. Restore it first."),
    ("bad_phone", "请填写有效的电话号码，6 到 15 位数字。", "Enter a phone number of 6 to 15 digits."),
    ("bad_postal_code", "邮政编码与所选国家或地区不符。", "This isn’t a valid postal code for the chosen country."),
    ("bad_country", "请选择列表中的国家或地区。", "Choose a country or region from the list."),
    ("bad_id", "编号格式不对，请完整复制。", "This isn’t a complete number. Please copy all of it."),
    ("bad_class", "没有这种类别。", "No such kind."),
    ("bad_network", "请填写一个网络（IPv4 为 /24，IPv6 为 /48）或一个地址。", "Enter a network (/24 of IPv4, /48 of IPv6) or an address."),
    ("bad_status", "没有这种状态。", "No such status."),
    ("time_order", "结束时间必须晚于开始时间。", "The end must be after the start."),
    ("no_such_user", "没有这个用户。", "No such user."),
    ("exceeds_payment", "超过可退金额。", "More than can still be refunded."),
    ("no_wallet", "钱包只支持人民币。", "Wallets hold CNY only."),
    ("top_up_bounds", "单笔充值 1 到 50,000 元。", "A top-up is from ¥1 to ¥50,000."),
    ("too_many_shares", "总金额不够分：每份至少 0.01 元。", "The total is too small: each share is at least ¥0.01."),
    ("spending_limit", "运营员 24 小时内最多动用商店资金 10,000 元，请联系店主。",
        "An operator can spend ¥10,000 of the shop’s money within 24 hours. Please ask an owner."),
    ("amount_too_large", "秒杀价乘以每人限购数太大。", "The price times the limit per person is too large."),
    ("too_many_packets", "进行中的红包已达上限，请等其中一些结束后再发。", "You have reached the limit of open red packets. Please wait until some are over."),
    ("bad_limit", "限购数不能超过总量。", "The limit can’t be more than the total."),
];

/// The text of an invalid form field; the code itself if it is unknown.
pub fn field_error(locale: Locale, code: &'static str) -> &'static str {
    super::text_of(FIELD_ERRORS, locale, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_errors_have_texts_in_both_languages() {
        for (code, ..) in FIELD_ERRORS {
            assert_ne!(field_error(Locale::Zh, code), field_error(Locale::En, code));
        }
        assert_eq!(field_error(Locale::En, "unknown_code"), "unknown_code");
    }
}
